"""Every field knows what it may be, and says so when it is not."""

import math
from dataclasses import dataclass, field, fields

import pytest

from s2m.config.fields import setting, validate
from s2m.console.errors import UserError


@dataclass
class Inner:
    share: float = setting(0.5, "a share", above=0, high=1)


@dataclass
class Outer:
    count: int = setting(3, "a count", low=1)
    angle: float = setting(0.0, "an angle", low=-1, high=1)
    most: float = setting(0.0, "a bound", high=5)
    free: float = setting(0.0, "any number")
    steps: list[int] = setting([1, 2], "steps", low=1, length=2, distinct=True)
    name: str = setting("a", "a name", choices=["alpha", "beta", "a"])
    plain: str = "without a rule"
    inner: Inner = field(default_factory=Inner)

    def check(self):
        if self.count == 7:
            raise UserError("seven is taken")


def refused(name, value):
    config = Outer()
    target, _, last = name.rpartition(".")
    setattr(config.inner if target else config, last, value)
    with pytest.raises(UserError) as error:
        validate(config)
    return str(error.value)


def test_the_defaults_are_allowed():
    validate(Outer())


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("count", 0, "count = 0: allowed 1 or more (a count)"),
        ("angle", 1.5, "angle = 1.5: allowed -1 to 1 (an angle)"),
        ("most", 6, "most = 6: allowed 5 or less (a bound)"),
        ("inner.share", 0, "inner.share = 0: allowed above 0 and at most 1 (a share)"),
        ("steps", [1, 0], "steps = [1, 0]: allowed 1 or more (steps)"),
        ("steps", [1], "steps = [1]: needs 2 values (steps)"),
        ("steps", [4, 4], "steps = [4, 4]: needs every value once (steps)"),
        ("name", "alpa", "unknown name 'alpa'. Did you mean 'alpha'? Allowed: alpha, beta, a"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_allowed_and_what_it_means(name, value, line):
    assert refused(name, value) == line


@pytest.mark.parametrize(("name", "value"), [("count", 1), ("angle", -1), ("inner.share", 1)])
def test_bounds_belong_to_what_is_allowed(name, value):
    config = Outer()
    target, _, last = name.rpartition(".")
    setattr(config.inner if target else config, last, value)
    validate(config)


@pytest.mark.parametrize("name", ["angle", "most", "free"])
@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_what_is_no_finite_number_is_refused_everywhere(name, value):
    assert refused(name, value).startswith(f"{name} = {value}: allowed")


def test_an_empty_list_of_bounded_numbers_is_refused():
    @dataclass
    class Listed:
        levels: list[int] = setting([1], "levels", low=1)
        lines: list[str] = setting([], "lines")

    validate(Listed())
    with pytest.raises(UserError, match="levels = .*: needs at least one value"):
        validate(Listed(levels=[]))


def test_what_no_field_can_tell_is_told_by_the_config():
    assert refused("count", 7) == "seven is taken"


def test_no_two_configs_share_a_default():
    one, other = Outer(), Outer()
    one.steps.append(9)
    one.inner.share = 1.0
    assert other.steps == [1, 2] and other.inner.share == 0.5


def test_a_field_tells_its_meaning_and_whether_it_decides():
    @dataclass
    class Said:
        root: str = setting("runs", "a folder", decides=False, since="0.2")

    (found,) = fields(Said)
    assert found.metadata["meaning"] == "a folder" and found.metadata["since"] == "0.2"
    assert found.metadata["decides"] is False
