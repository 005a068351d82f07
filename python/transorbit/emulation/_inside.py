"""Runs as a process of its own: makes the namespaces and their devices, hands these out, and runs the command.

It imports the standard library only and has a single thread, as the kernel asks of a process that enters a user
namespace (user_namespaces(7)). `python -I _inside.py CONTROL DEVICES`: two descriptors of sockets. By CONTROL it reads
its task as one line of JSON and answers with lines of JSON; over DEVICES go the devices.

    this process ── enters the namespaces, stays to pass signals on
      └─ the first process of a new PID namespace ── makes devices; when it ends, the kernel ends all below it
           ├─ the server's command
           └─ the command
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import ipaddress
import json
import os
import signal
import socket
import struct
import sys
import time
from pathlib import Path

_NEWNS, _NEWUSER, _NEWPID, _NEWNET = 0x0002_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000
_MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
_MNT_DETACH = 2
_PR_SET_PDEATHSIG = 1
_TUNSETIFF, _TUNSETOFFLOAD = 0x4004_54CA, 0x4004_54D0
_IFF_TUN, _IFF_NO_PI, _IFF_VNET_HDR, _IFF_UP = 0x0001, 0x1000, 0x4000, 0x1
# Checksums, and TCP (IPv4, IPv6, with ECN) in long packets; then datagrams as well, which Linux 6.2 knows.
_OFFLOADS = 0x01 | 0x02 | 0x04 | 0x08
_OFFLOADS_UDP = _OFFLOADS | 0x20 | 0x40
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCSIFADDR, _SIOCSIFNETMASK = 0x8913, 0x8914, 0x8916, 0x891C
_SIOCSIFMTU, _SIOCGIFINDEX = 0x8922, 0x8933
_RTM_NEWLINK, _NLM_REQUEST, _NLM_ACK, _IFLA_TXQLEN = 16, 1, 4, 13
# Frames that wait for us: a sender does not notice that a device is busy, and what finds no room never comes to us.
_WAITING = 10_000
_DEVICE = "sat0"
_SERVER_WAIT_S = 5.0
_libc = ctypes.CDLL(None, use_errno=True)


class RefusedError(Exception):
    """The kernel does not let us; the message says what is missing and how to get it."""


def call(name: str, *arguments: object) -> None:
    """A function of the C library that returns -1 on failure."""
    if getattr(_libc, name)(*arguments) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)


def die_with_parent(parent: int) -> None:
    """The kernel kills this process when its parent ends."""
    call("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() not in {parent, 0}:
        os._exit(1)


def enter_namespaces() -> None:
    """Into new mount, network and PID namespaces; without root, into a user namespace first."""
    user, group = os.geteuid(), os.getegid()
    kinds = _NEWNS | _NEWNET | _NEWPID
    if user == 0:
        try:
            return call("unshare", kinds)
        except OSError as error:
            if error.errno != errno.EPERM:
                raise RefusedError(_closed(error)) from None
    try:
        call("unshare", kinds | _NEWUSER)
    except OSError as error:
        raise RefusedError(_closed(error)) from None
    try:
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", f"{user} {user} 1")
        write("/proc/self/gid_map", f"{group} {group} 1")
    except OSError as error:
        raise RefusedError(
            f"cannot map user {user} into a user namespace ({error.strerror}): a user without capabilities has to be "
            "another than root"
        ) from None
    return None


def _closed(error: OSError) -> str:
    if error.errno in {errno.ENOSPC, errno.EUSERS}:
        limits = "/proc/sys/user/max_{user,net,mnt,pid}_namespaces"
        return f"no more namespaces are allowed: a limit in {limits} is reached; `sysctl` as root raises it"
    if error.errno == errno.EINVAL:
        return "the kernel lacks namespaces: it needs CONFIG_USER_NS, CONFIG_NET_NS and CONFIG_PID_NS"
    settings = {
        "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
        "/proc/sys/user/max_user_namespaces": ("0", "sysctl user.max_user_namespaces=10000"),
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
            "1",
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    }
    for file, (closed, remedy) in settings.items():
        if read(file).strip() == closed:
            return f"user namespaces are closed ({file} is {closed}): `{remedy}` opens them, or run this as root"
    return f"cannot make a user namespace ({error.strerror}): in a container it has to be allowed; or run this as root"


def read(file: str) -> str:
    """Returns the text of a file, empty if it is not there."""
    try:
        return Path(file).read_text(encoding="utf-8")
    except OSError:
        return ""


def write(file: str, text: str) -> None:
    """Writes to a file of the kernel."""
    Path(file).write_text(text, encoding="utf-8")


def request(name: str, rest: bytes = b"") -> bytes:
    """An `ifreq` of netdevice(7)."""
    return struct.pack("16s24s", name.encode(), rest)


def bring_up(name: str, sock: socket.socket) -> None:
    """Sets the flag of an interface that is in use."""
    (flags,) = struct.unpack_from("H", fcntl.ioctl(sock, _SIOCGIFFLAGS, request(name)), 16)
    fcntl.ioctl(sock, _SIOCSIFFLAGS, request(name, struct.pack("H", flags | _IFF_UP)))


def lengthen_queue(index: int) -> None:
    """Sets how many frames wait at a device: by rtnetlink(7), as netdevice(7) lets only root of the host do it."""
    body = struct.pack("BxHiIIHHI", socket.AF_UNSPEC, 0, index, 0, 0, 8, _IFLA_TXQLEN, _WAITING)
    header = struct.pack("IHHII", 16 + len(body), _RTM_NEWLINK, _NLM_REQUEST | _NLM_ACK, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.send(header + body)
        (error,) = struct.unpack_from("i", sock.recv(4096), 16)
    if error:
        raise OSError(-error, os.strerror(-error), "rtnetlink")


def make_device(addresses: list[str], mtu: int) -> int:
    """A TUN device in the network namespace of this process with these addresses (ADDRESS/PREFIX): its descriptor."""
    try:
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        flags = _IFF_TUN | _IFF_NO_PI | _IFF_VNET_HDR
        fcntl.ioctl(device, _TUNSETIFF, request(_DEVICE, struct.pack("H", flags)))
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            needed = "read and write access is needed (as root: `chmod 666 /dev/net/tun`)"
        else:
            needed = (
                "the kernel's module tun is needed (`modprobe tun` as root), and in a container the device has to be "
                "passed in"
            )
        raise RefusedError(f"/dev/net/tun: {error.strerror}: {needed}") from None
    for offloads in (_OFFLOADS_UDP, _OFFLOADS):
        with contextlib.suppress(OSError):
            fcntl.ioctl(device, _TUNSETOFFLOAD, offloads)
            break
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, _SIOCSIFMTU, request(_DEVICE, struct.pack("i", mtu)))
        (index,) = struct.unpack_from("i", fcntl.ioctl(sock, _SIOCGIFINDEX, request(_DEVICE)), 16)
        lengthen_queue(index)
        bring_up("lo", sock)
        for interface in map(ipaddress.ip_interface, addresses):
            if interface.version == 4:
                for operation, value in ((_SIOCSIFADDR, interface.ip), (_SIOCSIFNETMASK, interface.netmask)):
                    address = struct.pack("HH4s8x", socket.AF_INET, 0, value.packed)
                    fcntl.ioctl(sock, operation, request(_DEVICE, address))
        bring_up(_DEVICE, sock)
        for interface in map(ipaddress.ip_interface, addresses):
            if interface.version == 6:
                address = struct.pack("16sIi", interface.ip.packed, interface.network.prefixlen, index)
                with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock6:
                    fcntl.ioctl(sock6, _SIOCSIFADDR, address)
    group = os.getegid()
    with contextlib.suppress(OSError):
        # So that `ping` needs no privilege (icmp(7)).
        write("/proc/sys/net/ipv4/ping_group_range", f"{group} {group}")
    return device


def name_hosts(hosts: dict[str, list[str]]) -> None:
    """Puts names before those of /etc/hosts, for this mount namespace alone.

    The file is in a file system of its own, which goes with the namespace: nothing is left however this ends.
    """
    call("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
    if not Path("/etc/hosts").exists():
        return
    lines = [f"{address}\t{name}" for name, addresses in hosts.items() for address in addresses]
    text = "\n".join([*lines, read("/etc/hosts")])
    folder = "/tmp"  # noqa: S108 - a file system of our own, mounted there
    file = f"{folder}/hosts"
    call("mount", b"none", folder.encode(), b"tmpfs", 0, None)
    write(file, text)
    call("mount", file.encode(), b"/etc/hosts", None, _MS_BIND, None)
    call("umount2", folder.encode(), _MNT_DETACH)


def start(command: list[str], namespace: int, environment: dict[str, str], quiet: bool = False) -> int:
    """A process that runs `command` in a network namespace."""
    process = os.fork()
    if process:
        return process
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        call("setns", namespace, _NEWNET)
        if quiet:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, 0)
            os.dup2(2, 1)
        os.execvpe(command[0], command, {**os.environ, **environment})  # noqa: S606 - the user's own command
    except OSError as error:
        print(f"transorbit: {command[0]}: {error.strerror}", file=sys.stderr)
    os._exit(127)


def listens(namespace: int) -> bool:
    """Whether something waits for connections or datagrams in a network namespace."""
    call("setns", namespace, _NEWNET)
    tcp = read("/proc/thread-self/net/tcp") + read("/proc/thread-self/net/tcp6")
    udp = read("/proc/thread-self/net/udp") + read("/proc/thread-self/net/udp6")
    return " 0A " in tcp or udp.count("\n") > 2


def unread(namespace: int) -> int:
    """Packets that found no room at the device of a network namespace, and so never came to us."""
    call("setns", namespace, _NEWNET)
    lines = read("/proc/thread-self/net/dev").splitlines()
    return sum(int(line.split()[12]) for line in lines if line.split()[0] == f"{_DEVICE}:")


def code_of(status: int) -> int:
    """The exit code of a wait status, as shells have it."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


class Inside:
    """The first process of the PID namespace."""

    def __init__(self, control: socket.socket, devices: socket.socket, task: dict[str, object]) -> None:
        self.control, self.devices, self.task = control, devices, task
        self.places: dict[str, int] = {}
        self.running: dict[int, str] = {}
        self.codes: dict[str, int] = {}

    def build(self) -> None:
        """The network namespaces, each with its device, and the names."""
        for place in self.task["places"]:  # type: ignore[attr-defined]
            call("unshare", _NEWNET)
            self.places[place["name"]] = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            device = make_device(place["addresses"], int(self.task["mtu"]))  # type: ignore[call-overload]
            socket.send_fds(self.devices, [b"d"], [device])
            os.close(device)
        name_hosts(self.task["hosts"])  # type: ignore[arg-type]
        listeners = self.listeners()
        socket.send_fds(self.control, [b'{"ready": true}\n'], listeners)
        for listener in listeners:
            os.close(listener)

    def listeners(self) -> list[int]:
        """Sockets in the servers' namespace, a TCP and a UDP one for each forwarded port."""
        call("setns", self.places["server"], _NEWNET)
        port_sockets = []
        for port in self.task["ports"]:  # type: ignore[attr-defined]
            family = socket.AF_INET6 if int(self.task["mtu"]) >= 1280 else socket.AF_INET  # type: ignore[call-overload]
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                sock = socket.socket(family, kind)
                if family == socket.AF_INET6:
                    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    sock.bind(("", port))
                except OSError as error:
                    raise RefusedError(
                        f"serve: port {port} cannot be had at the server's address: {error.strerror}"
                    ) from None
                if kind == socket.SOCK_STREAM:
                    sock.listen(128)
                port_sockets.append(sock.detach())
        return port_sockets

    def run(self) -> int:
        """Starts the server and the commands, waits for the commands: the first exit code that is not 0."""
        self.control.recv(1)  # the world's clock runs
        signal.signal(signal.SIGTERM, lambda *_: self.stop())
        if server := self.task["server"]:
            process = start(server, self.places["server"], {}, quiet=True)  # type: ignore[arg-type]
            self.running[process] = "server's"
            self.await_server(process)
        for place in self.task["at"]:  # type: ignore[attr-defined]
            environment = {"TRANSORBIT_EMULATION": "1", "TRANSORBIT_PLACE": place}
            process = start(self.task["command"], self.places[place], environment)  # type: ignore[arg-type]
            self.running[process] = place
        while any(place != "server's" for place in self.running.values()):
            self.reap(0)
        lost = sum(map(unread, self.places.values()))
        with contextlib.suppress(OSError):
            self.control.sendall(json.dumps({"unread": lost}).encode() + b"\n")
        return next((code for code in self.codes.values() if code), 0)

    def reap(self, options: int) -> bool:
        """Takes note of a process that has ended: whether there was one."""
        process, status = os.waitpid(-1, options)
        place = self.running.pop(process, None)
        if place not in {None, "server's"}:
            self.codes[place] = code_of(status)
        return process != 0

    def await_server(self, process: int) -> None:
        """Waits until the server's command listens or has ended, some seconds at most."""
        until = time.monotonic() + _SERVER_WAIT_S
        while time.monotonic() < until and process in self.running and not listens(self.places["server"]):
            time.sleep(0.02)
            self.reap(os.WNOHANG)

    def stop(self) -> None:
        """Asks all commands to end."""
        for process in self.running:
            end(process)


def end(process: int) -> None:
    """Asks a process to end; one that has ended already, as where its whole group was asked, is none of ours."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGTERM)


def first_process(control: socket.socket, devices: socket.socket, task: dict[str, object]) -> int:
    """Runs the first process of the new PID namespace."""
    inside = Inside(control, devices, task)
    try:
        inside.build()
    except RefusedError as error:
        answer(control, str(error))
        return 2
    except OSError as error:
        answer(control, f"{error.filename or 'network'}: {error.strerror}")
        return 2
    return inside.run()


def answer(control: socket.socket, error: str) -> None:
    """Tells that it does not work."""
    control.sendall(json.dumps({"error": error}).encode() + b"\n")


def main() -> int:
    """Enters the namespaces, and passes signals on to the first process in them."""
    control, devices = (socket.socket(fileno=int(number)) for number in sys.argv[1:3])
    task = json.loads(control.makefile("r", encoding="utf-8").readline())
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        enter_namespaces()
    except RefusedError as error:
        answer(control, str(error))
        return 2
    die_with_parent(parent)
    own = os.getpid()
    process = os.fork()
    if process == 0:
        call("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if read(f"/proc/{own}/stat") == "":
            os._exit(1)
        os._exit(first_process(control, devices, task))
    control.close()
    devices.close()
    signal.signal(signal.SIGTERM, lambda *_: end(process))
    _, status = os.waitpid(process, 0)
    return code_of(status)


if __name__ == "__main__":
    sys.exit(main())
