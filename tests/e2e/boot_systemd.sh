#!/bin/bash
# Boots a private systemd as PID 1 of its own namespaces, until killed. Arguments: unit directory, console file.
# Needs root and a cgroup2 hierarchy (in hybrid mode under /sys/fs/cgroup/unified). Leaves nothing on the host.
units=$1 console=$2
root=/sys/fs/cgroup
[ -d $root/unified ] && root=$root/unified
group=$root/toolsearchd-test.$$
: > "$console"
mkdir "$group" && echo $$ > "$group/cgroup.procs" || exit 9
exec unshare --fork --pid --mount --uts --ipc --cgroup --kill-child --mount-proc --propagation private bash -c "
    umount -R /sys/fs/cgroup 2>/dev/null
    mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit 9
    mount -t tmpfs tmpfs /run && mkdir -p /run/lock /run/log
    mount -t tmpfs tmpfs /var/log
    mount --bind '$console' /dev/console
    exec env -i PATH='$PATH' container=test SYSTEMD_UNIT_PATH='$units' /lib/systemd/systemd --system \
        --unit=test.target --log-level=info --log-target=console --show-status=no </dev/null"
