"""Mounts a folder of this machine on two hosts, by NFS and by SMB, and lets ndzarr-torture write on both."""

import os
import signal
import subprocess
from pathlib import Path

from network import N_HOSTS, Network, run, until

#: The folder that is exported. Its file system is the disk's, since NFS cannot export one in memory.
EXPORTED = Path("/exported")

PASSWORD = "torture"

SMB_OPTIONS = f"vers=3.1.1,username=root,password={PASSWORD}"

#: The options of each kind of mount, and what is mounted. With leases, the default of Linux's client of SMB,
#: it leaves closed files open: another host then gets EINVAL for what was renamed, and
#: waits for what was removed.
KINDS = {
    "NFS 3, nolock": ("nfs", "vers=3,nolock", f"{{server}}:{EXPORTED}"),
    "NFS 4.2": ("nfs", "vers=4.2", f"{{server}}:{EXPORTED}"),
    "SMB, nolease": ("cifs", f"{SMB_OPTIONS},nolease", "//{server}/torture"),
    "SMB, nolease,nobrl": ("cifs", f"{SMB_OPTIONS},nolease,nobrl", "//{server}/torture"),
}

SAMBA = f"""
[global]
server role = standalone server
disable netbios = yes
load printers = no
[torture]
path = {EXPORTED}
read only = no
"""


def torture(program, table, kinds):
    EXPORTED.mkdir(exist_ok=True)
    network = Network()
    for host in range(N_HOSTS):
        # To servers of NFS 4, two hosts of one name are one that has started again.
        name = f"echo host{host} > /sys/fs/nfs/net/nfs_client/identifier"
        run(*network.command(host), "sh", "-c", name)
    serve_nfs()
    serve_smb()
    for name in kinds:
        kind, options, source = KINDS[name]
        with table.part(f"two hosts, {name}"):
            mounts = [Path(f"/host{host}") for host in range(N_HOSTS)]
            for host, at in enumerate(mounts):
                at.mkdir(exist_ok=True)
                mount = ["mount", "-t", kind, "-o", options, source.format(server=network.address), at]
                run("nsenter", f"--net=/run/netns/{network.name(host)}", *mount)
            try:
                writers(program, table, name, mounts)
            finally:
                for at in mounts:
                    run("umount", "--lazy", at)


def serve_nfs():
    for folder in ("/run/rpcbind", "/run/sendsigs.omit.d", "/var/lib/nfs/v4recovery"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    run("rpcbind", "-w")
    run("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
    Path("/etc/exports").write_text(f"{EXPORTED} *(rw,sync,no_root_squash,no_subtree_check,fsid=1)\n")
    run("exportfs", "-ra")
    # After its start a server of NFS 4 waits so many seconds for clients that had files open before.
    run("rpc.nfsd", "--grace-time", "10", "4")
    run("rpc.mountd")


def serve_smb():
    Path("/etc/samba/smb.conf").write_text(SAMBA)
    for folder in ("/run/samba", "/var/lib/samba/private", "/var/log/samba", "/var/cache/samba"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    entered = f"{PASSWORD}\n{PASSWORD}\n"
    subprocess.run(["smbpasswd", "-s", "-a", "root"], input=entered, text=True, check=True, capture_output=True)
    run("smbd", "-D")
    until(lambda: listens(445), "smbd")


def listens(port):
    """True if a server of this machine has the port: the kernel's table has it in hexadecimal, with state 0A."""
    lines = Path("/proc/net/tcp").read_text().split("\n") + Path("/proc/net/tcp6").read_text().split("\n")
    words = [line.split() for line in lines]
    return any(len(it) > 3 and it[1].endswith(f":{port:04X}") and it[3] == "0A" for it in words)


def writers(program, table, name, mounts):
    """Runs the workload `hosts` in its short form, since the machine is slow, and counts its figures."""
    print(f"   {name}:", flush=True)
    # A folder of its own, below which nothing is left of others.
    folder = f"{len(list(EXPORTED.iterdir()))}"
    (EXPORTED / folder).mkdir()
    places = [at / folder for at in (EXPORTED, *mounts)]
    command = [program, "--minute", "--only", "hosts", "--folder", "/tmp", "--mounted", *places]
    process = subprocess.Popen(
        list(map(str, command)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    last = ""
    try:
        for line in process.stdout:
            if "figures," in line:
                last = line
                break
            print(line, end="", flush=True)
        else:
            raise OSError("ndzarr-torture ended before its time")
    finally:
        # Also those that it started and has stopped.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    # "15 figures, 0 missed, 20 s"
    words = last.split()
    table.n_rows += int(words[0])
    table.n_missed += int(words[2])
