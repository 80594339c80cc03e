"""What hatchling asks when it builds the wheel: its version, the program in it, and the systems that it runs on.

ROLLCALL_WHEEL_BINARY is the program; without it the wheel holds Python alone, and finds the program on PATH.
ROLLCALL_WHEEL_VERSION is the program's version, as git describe writes it.
"""

import os
import re
import subprocess

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


# The minor number of the glibc that the wheel with CUDA asks for: Debian 12, Ubuntu 22.04 and RHEL 9 have it.
GLIBC = 34


def version():
    """Return the version as PEP 440 wants it: v1.2-3-g06a36914-dirty becomes 1.2+3.g06a36914.dirty."""
    described = os.environ.get("ROLLCALL_WHEEL_VERSION", "devel")
    tag, rest = re.fullmatch(r"(?:v(\d+(?:\.\d+)*)(?:-|$))?(.*)", described).groups()
    rest = re.sub(r"^(?=[0-9a-f]{7,}\b)", "g", rest)  # the hash alone, in a repository without tags
    local = re.sub(r"[^a-z0-9]+", ".", rest.lower())
    return (tag or "0.0.0") + ("+" + local if local else "")


class Program(BuildHookInterface):
    """Puts the program beside the scripts of the environment, where it is on PATH."""

    PLUGIN_NAME = "custom"

    def initialize(self, version, build_data):
        binary = os.environ.get("ROLLCALL_WHEEL_BINARY")
        if binary:
            build_data["shared_scripts"][binary] = "rollcall"
            build_data["pure_python"] = False
            build_data["tag"] = "py3-none-" + platforms(binary)


def platforms(binary):
    """Return the tags of the systems that a program runs on, which is Linux on amd64.

    One that needs the C library runs where that has the symbols it asks for. One that needs no library runs everywhere;
    its tags name the oldest systems for which NumPy had wheels.
    """
    command = ["objdump", "-p", binary]
    text = subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout
    if "file format elf64-x86-64" not in text:
        raise SystemExit(f"{binary}: want a program of Linux on amd64")
    needed = set(re.findall(r"NEEDED +(\S+)", text))
    if not needed:
        return "manylinux_2_17_x86_64.musllinux_1_1_x86_64"
    if needed != {"libc.so.6"}:
        raise SystemExit(f"{binary}: needs {', '.join(sorted(needed))}, want the C library alone")
    newest = max(int(minor) for minor in re.findall(r"\bGLIBC_2\.(\d+)", text))
    if newest > GLIBC:
        raise SystemExit(f"{binary}: asks for glibc 2.{newest}, want 2.{GLIBC} or older: build it on an older Linux")
    return f"manylinux_2_{GLIBC}_x86_64"
