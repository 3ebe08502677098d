"""Do two processes descend from one program of the person's? As far as /proc tells; unknown counts as yes."""

from __future__ import annotations

from toolsearchd.system import processes
from toolsearchd.system.processes import Process

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


# What takes in processes whose parent has gone; pid 1 does too, whatever its name.
_REAPERS = frozenset(("init", "systemd"))


def ancestry_of(pid: int) -> tuple[Process, ...]:
    """The process and its parents, nearest first; empty where /proc does not tell of them all."""
    try:
        climbed = processes.climb(pid)
    except OSError:
        return ()
    return tuple(climbed) if climbed and processes.is_whole(climbed) else ()


def are_related(asker: tuple[Process, ...], approver: tuple[Process, ...]) -> bool:
    """Have they a process in common that is not the login's own, or another user's; or does the approver run
    in the session, or on the terminal, of the asker or of what started it?

    What can't be told counts as yes: a process that is gone, and an approver without a terminal whose parent
    has gone, as of a background child that was let go: it may be anybody's.
    """
    if not asker or not approver or _is_of_nobody(approver):
        return True
    programs = [process for process in asker if not _is_of_login(process)]
    starts = {process.key for process in programs}
    if any(process.key in starts for process in approver):
        return True
    own = approver[0]
    return any(
        own.session == process.session != 0 or own.terminal == process.terminal != 0 for process in programs
    )


def _is_of_nobody(line: tuple[Process, ...]) -> bool:
    """It has no terminal, and the topmost program above it has lost its parent."""
    top = next((at for at, process in enumerate(line) if _is_of_login(process)), len(line))
    return not line[0].terminal and 0 < top < len(line) and _takes_in(line[top])


def _takes_in(process: Process) -> bool:
    return process.pid == 1 or process.name in _REAPERS


def _is_of_login(process: Process) -> bool:
    return process.pid == 1 or not process.is_ours or process.name in _LOGIN
