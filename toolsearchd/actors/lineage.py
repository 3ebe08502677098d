"""Do two processes descend from one program of the person's? As far as /proc tells; unknown counts as yes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_MAX_ANCESTORS = 64
# What stands above the programs of a login: every terminal of it hangs below one of these. Names as the
# kernel cuts them, at 15 characters. Terminal emulators and multiplexers belong here: a person answers in
# the tab or pane beside the agent's.
_LOGIN = frozenset(
    (
        "init,systemd,(sd-pam),login,sshd,sshd-session,agetty,xinit,Xorg,Xwayland,gdm-session-wor,"
        "gdm-wayland-ses,gdm-x-session,lightdm,sddm,sddm-helper,gnome-session-b,gnome-shell,plasmashell,ksmserver,"
        "kwin_wayland,kwin_x11,xfce4-session,cinnamon-sessio,mate-session,sway,Hyprland,i3,gnome-terminal-,ptyxis,"
        "ptyxis-agent,kgx,konsole,yakuake,xfce4-terminal,xterm,rxvt,urxvt,urxvtd,kitty,alacritty,wezterm-gui,"
        "wezterm-mux-ser,foot,footserver,ghostty,terminator,tilix,tmux: server,screen,SCREEN,zellij"
    ).split(",")
)


class Process(NamedTuple):
    pid: int
    started: int  # clock ticks since boot: a pid is given out again
    name: str
    uid: int


def lineage(pid: int) -> tuple[Process, ...]:
    """The process and its parents, nearest first; empty where /proc does not tell."""
    found: list[Process] = []
    while pid > 0 and len(found) < _MAX_ANCESTORS:
        try:
            stat = Path(f"/proc/{pid}/stat").read_bytes()
            uid = os.stat(f"/proc/{pid}").st_uid
            # The name stands in parentheses and may hold anything: what follows the last one counts.
            head, _, rest = stat.rpartition(b")")
            fields = rest.split()
            name = head.partition(b"(")[2].decode("utf-8", "replace")
            found.append(Process(pid, int(fields[19]), name, uid))
            pid = int(fields[1])
        except (OSError, IndexError, ValueError):
            return ()
    return tuple(found)


def are_related(one: tuple[Process, ...], other: tuple[Process, ...]) -> bool:
    """Have they a process in common that is not the login's own, or another user's? Unknown counts as yes."""
    if not one or not other:
        return True
    shared = {(process.pid, process.started) for process in one} & {(p.pid, p.started) for p in other}
    return any((p.pid, p.started) in shared and not _is_of_login(p) for p in one)


def _is_of_login(process: Process) -> bool:
    return process.pid == 1 or process.uid != os.getuid() or process.name in _LOGIN
