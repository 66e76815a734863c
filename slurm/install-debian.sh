#!/bin/sh
# Install what slurm/devcluster.py needs: SLURM, munge, and MariaDB for the accounting.
# Safe to run again; starts no service and writes no configuration.
set -eu

PACKAGES="slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge
    slurmdbd slurm-wlm-mysql-plugin mariadb-server-core mariadb-client-core"
POLICY=/usr/sbin/policy-rc.d

fail() {
    echo "error: $*" >&2
    exit 1
}

command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
    fail "this script is for Debian and its relatives: install by other means: $(echo $PACKAGES)"

missing=""
for package in $PACKAGES; do
    state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
if [ -z "$missing" ]; then
    echo "SLURM is already installed."
    exit 0
fi

[ "$(id -u)" -eq 0 ] || fail "installing packages needs root: sudo sh $0"

# The packages would start munge and, where it is configured, SLURM: the policy forbids it.
if [ ! -e "$POLICY" ]; then
    trap 'rm -f "$POLICY"' EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$POLICY"
    chmod 755 "$POLICY"
fi

log=$(mktemp)
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update && apt-get install --yes --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    fail "apt-get failed, see $log"
fi
rm -f "$log"

# Nor shall they start at the next boot.
if [ -d /run/systemd/system ]; then
    for unit in munge slurmctld slurmd slurmdbd; do
        case " $missing " in *" $unit "*) systemctl disable --quiet "$unit" 2>/dev/null || true ;; esac
    done
fi
echo "Installed:$missing"
