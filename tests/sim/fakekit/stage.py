"""A USD stage that knows paths, children and applied APIs, and nothing else."""


class Path:
    def __init__(self, text):
        self.pathString = text

    def __str__(self):
        return self.pathString


class Prim:
    def __init__(self, path, valid=True):
        self.path, self.valid = path, valid
        self.children: dict[str, Prim] = {}
        self.apis: set[str] = set()

    def IsValid(self):
        return self.valid

    def GetPath(self):
        return Path(self.path)

    def GetName(self):
        return self.path.rsplit("/", 1)[-1]

    def GetChildren(self):
        return list(self.children.values())

    GetAllChildren = GetChildren

    def HasAPI(self, api):
        return api.__name__ in self.apis

    def walk(self):
        yield self
        for child in self.children.values():
            yield from child.walk()


class Stage:
    def __init__(self):
        self.root = Prim("")

    def GetPseudoRoot(self):
        return self.root

    def GetPrimAtPath(self, path):
        prim = self.root
        for name in str(path).strip("/").split("/"):
            if name not in prim.children:
                return Prim(str(path), valid=False)
            prim = prim.children[name]
        return prim

    def DefinePrim(self, path, kind="Xform"):
        prim = self.root
        for name in str(path).strip("/").split("/"):
            prim = prim.children.setdefault(name, Prim(f"{prim.path}/{name}"))
        return prim

    def Traverse(self):
        return (prim for prim in self.root.walk() if prim is not self.root)

    def copy(self, source, target):
        """Clone a subtree with its APIs."""
        for prim in list(self.GetPrimAtPath(source).walk()):
            self.DefinePrim(target + prim.path[len(source) :]).apis |= prim.apis
