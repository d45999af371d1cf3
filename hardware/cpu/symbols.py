"""Read a built artifact (ELF) without running it: what it needs, what it exports, and whether it runs code when loaded."""

from __future__ import annotations

import io
import re

from elftools.common.exceptions import ELFError
from elftools.elf.constants import P_FLAGS
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from .contract import STATIC_LIMIT_BYTES

_MATH = re.findall(
    r"\w+",
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma "
    "fmax fmin fmod frexp hypot ilogb ldexp llrint llround log log10 log1p log2 logb lrint lround modf nearbyint "
    "nextafter pow remainder rint round scalbn sin sincos sinh sqrt tan tanh tgamma lgamma trunc exp10 finite ",
)
_EXACT = frozenset(
    [
        *("memcpy", "memmove", "memset", "memcmp", "memchr"),
        *("__memcpy_chk", "__memmove_chk", "__memset_chk", "__stack_chk_fail", "__chk_fail"),
        *("__tls_get_addr", "_GLOBAL_OFFSET_TABLE_"),
        *(name + suffix for name in _MATH for suffix in ("", "f", "l")),
        *(f"__{name}{suffix}_finite" for name in _MATH for suffix in ("", "f")),
        *("omp_get_num_threads", "omp_get_thread_num", "omp_get_max_threads", "omp_in_parallel", "omp_get_num_procs"),
        *("omp_get_level", "omp_get_team_size", "omp_get_thread_limit", "omp_get_dynamic"),
    ]
)
_PATTERNS = (
    re.compile(r"GOMP_(?!offload|target|oacc)\w+\Z"),
    re.compile(r"__kmpc_(?!target)\w+\Z"),
    # Vectorized libm (glibc) and the compilers' own arithmetic.
    re.compile(r"_ZGV[a-zA-Z0-9]+_\w+\Z"),
    re.compile(r"__(?:ext|trunc)end?[a-z]{2}[a-z]{2}2\Z|__trunc[a-z]{2}[a-z]{2}2\Z"),
    re.compile(
        r"__(?:add|sub|mul|div|mod|umod|udiv|fix|fixuns|float|floatun|floatuns|popcount|clz|ctz)[a-z]{2,4}[0-9]?\Z"
    ),
)
NEEDED = re.compile(r"(?:libc|libm|libmvec|libgomp|libomp|libiomp5|libgcc_s|libpthread|ld-linux[\w-]*)\.so(?:\.\d+)*\Z")
"""Libraries that an artifact may ask for."""
_LOAD_TIME = (
    "DT_INIT",
    "DT_FINI",
    "DT_INIT_ARRAY",
    "DT_FINI_ARRAY",
    "DT_PREINIT_ARRAY",
    "DT_RPATH",
    "DT_RUNPATH",
    "DT_AUDIT",
    "DT_DEPAUDIT",
    "DT_FILTER",
    "DT_AUXILIARY",
    "DT_TEXTREL",
)


def allowed(symbol: str) -> bool:
    """Whether an artifact may leave ``symbol`` undefined."""
    return symbol in _EXACT or any(pattern.match(symbol) for pattern in _PATTERNS)


def _segments(elf: ELFFile) -> str:
    writable = 0
    for segment in elf.iter_segments():
        flags = segment["p_flags"]
        if segment["p_type"] == "PT_TLS" or (segment["p_type"] == "PT_LOAD" and flags & P_FLAGS.PF_W):
            writable += segment["p_memsz"]
        if segment["p_type"] == "PT_INTERP":
            return "it names an interpreter"
        if segment["p_type"] == "PT_GNU_STACK" and flags & P_FLAGS.PF_X:
            return "its stack is executable"
        if segment["p_type"] == "PT_LOAD" and flags & P_FLAGS.PF_X and flags & P_FLAGS.PF_W:
            return "a segment is writable and executable"
    if writable > STATIC_LIMIT_BYTES:
        return f"it has {writable} bytes of static memory; scratch is at most {STATIC_LIMIT_BYTES} bytes"
    return ""


def _dynamic(elf: ELFFile) -> str:
    for section in elf.iter_sections():
        if isinstance(section, DynamicSection):
            for tag in section.iter_tags():
                if tag.entry.d_tag in _LOAD_TIME:
                    return f"it has {tag.entry.d_tag}: code or files that loading would bring in"
                # The library's name is an attribute that the reader adds to tags of this kind.
                needed = str(getattr(tag, "needed", ""))
                if tag.entry.d_tag == "DT_NEEDED" and not NEEDED.match(needed):
                    return f"it needs the library {needed}"
    return ""


def _tables(elf: ELFFile, entry: str) -> str:
    exported: list[str] = []
    for section in elf.iter_sections():
        if not isinstance(section, SymbolTableSection):
            continue
        for symbol in section.iter_symbols():
            kind, bind = symbol["st_info"]["type"], symbol["st_info"]["bind"]
            if kind in ("STT_GNU_IFUNC", "STT_LOOS"):
                return f"{symbol.name} is chosen when it is loaded (ifunc)"
            if section.name != ".dynsym" or not symbol.name:
                continue
            if symbol["st_shndx"] == "SHN_UNDEF":
                if not allowed(symbol.name):
                    return f"it needs {symbol.name}"
            elif bind != "STB_LOCAL" and symbol["st_other"]["visibility"] == "STV_DEFAULT":
                exported.append(symbol.name)
    extra = sorted(set(exported) - {entry})
    if extra:
        return f"it exports {extra[0]}; only {entry} may be visible (make the rest static)"
    return "" if entry in exported else f"it does not export {entry}"


def _relocations(elf: ELFFile) -> str:
    for section in elf.iter_sections():
        if isinstance(section, RelocationSection):
            for relocation in section.iter_relocations():
                # R_X86_64_IRELATIVE is 37, R_AARCH64_IRELATIVE is 1032.
                if relocation["r_info_type"] in (37, 1032):
                    return "it has an ifunc relocation"
    return ""


def check_symbols(artifact: bytes, entry: str) -> str:
    """Why ``artifact`` may not be loaded, naming the symbol or the part; an empty string when it may."""
    try:
        elf = ELFFile(io.BytesIO(artifact))
        if elf["e_type"] != "ET_DYN":
            return "it is not a shared object"
        return _segments(elf) or _dynamic(elf) or _tables(elf, entry) or _relocations(elf)
    except (ELFError, ValueError, KeyError, IndexError, OverflowError) as error:
        return f"it is not a readable ELF file ({error})"
