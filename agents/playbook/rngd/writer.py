"""Writes TCL programs: axes, arguments, passes of the tensor unit and operations on whole tensors, one statement each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

_READ_AS_THEY_ARE = frozenset(("f32", "i32"))
"""Types that the vector engine takes without a conversion."""


@dataclass(frozen=True)
class Tensor:
    """A named tensor with its axes (outermost first) and element type, in TCL's spelling."""

    name: str
    axes: tuple[str, ...]
    dtype: str

    @property
    def type(self) -> str:
        """Its type as it is written."""
        return f"[{', '.join(self.axes)}]/{self.dtype}"


@dataclass
class Writer:
    """A program in the making. ``axes`` are sizes by name, in the order of declaration."""

    name: str
    axes: dict[str, int]
    arguments: list[Tensor] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    apart: dict[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    """Activations that were taken apart already, by name."""
    _taken: set[str] = field(default_factory=set)

    def axis(self, name: str, size: int) -> str:
        """Declare an axis, or find it: one name, one size."""
        assert self.axes.setdefault(name, size) == size, f"axis {name} has two sizes"
        return name

    def argument(self, name: str, axes: Sequence[str], dtype: str) -> Tensor:
        """Declare the next argument."""
        tensor = Tensor(name, tuple(axes), dtype)
        self.arguments.append(tensor)
        self._taken.add(name)
        return tensor

    def fresh(self, name: str, axes: Sequence[str], dtype: str) -> Tensor:
        """A tensor with a name that is not taken yet."""
        given, number = name, 2
        while given in self._taken:
            given, number = f"{name}{number}", number + 1
        self._taken.add(given)
        return Tensor(given, tuple(axes), dtype)

    def graph(self, name: str, axes: Sequence[str], dtype: str, call: str) -> Tensor:
        """An operation on whole tensors: reshape, slice, concat, gather, scatter, copy, transmute."""
        result = self.fresh(name, axes, dtype)
        self.lines.append(f"    {result.name}: {result.type} = {call}")
        return result

    def reshape(self, name: str, tensor: Tensor, axes: Sequence[str]) -> Tensor:
        """The same elements over other axes; the tensor itself where they are the same."""
        if tensor.axes == tuple(axes):
            return tensor
        assert prod(self.axes[a] for a in tensor.axes) == prod(self.axes[a] for a in axes), f"reshape of {tensor.name}"
        return self.graph(name, axes, tensor.dtype, f"reshape({tensor.name})")

    def rows(self, name: str, tensor: Tensor, part: str, start: int) -> Tensor:
        """Rows of a tensor, from ``start``, as many as the axis ``part`` is long."""
        return self.graph(
            name, (part, *tensor.axes[1:]), tensor.dtype, f"slice({tensor.name}, {tensor.axes[0]}, {start})"
        )

    def concat(self, name: str, parts: Sequence[Tensor], axes: Sequence[str]) -> Tensor:
        """Parts one after the other along the one axis in which they differ."""
        return self.graph(name, axes, parts[0].dtype, f"concat([{', '.join(part.name for part in parts)}])")

    def operation(
        self, name: str, axes: Sequence[str], dtype: str, tactic: str, reads: Sequence[Tensor], body: Sequence[str]
    ) -> Tensor:
        """A pass of the tensor unit.

        ``body`` has an instruction on each line, which names what is read by ``{0}``, ``{1}``, … and the results before it
        by ``{a}``, ``{b}``, …. Floating-point tensors are read as f32, except by the contraction engine.
        """
        result = self.fresh(name, axes, dtype)
        contracts = tactic == "EinsumByDpe"
        self.lines.append(f"    {result.name}: {result.type} = tk.{tactic}(")
        names: dict[str, str] = {}
        for number, tensor in enumerate(reads):
            operand = contracts and number < 2
            cast = "" if tensor.dtype in _READ_AS_THEY_ARE or operand else ", typecast_to=f32"
            self.lines.append(f"        %{number} = read({tensor.name}{cast})")
            names[str(number)] = f"%{number}"
        for offset, instruction in enumerate(body):
            number = len(reads) + offset
            written = _filled(instruction, names)
            unit = "dpe" if "->" in written else "ve"
            self.lines.append(f"        %{number} = {unit}.exec({written})")
            names[chr(ord("a") + offset)] = f"%{number}"
        self.lines += [f"        write.to({result.type})", "    )"]
        return result

    def text(self, returned: Tensor, says: str) -> str:
        """The whole program."""
        axes = [f"{name}: Axis = {size}" for name, size in self.axes.items()]
        arguments = [f"{tensor.name}: {tensor.type}" for tensor in self.arguments]
        head = "".join(f"    {part},\n" for part in (*axes, *arguments)).rstrip(",\n")
        comment = "".join(f"# {line}\n" for line in says.splitlines())
        body = "\n".join(self.lines)
        return f"{comment}def {self.name}(\n{head}\n) -> {returned.type}:\n{body}\n    return {returned.name}\n"


def _filled(instruction: str, names: Mapping[str, str]) -> str:
    for key, value in names.items():
        instruction = instruction.replace(f"{{{key}}}", value)
    assert "{" not in instruction, f"nothing stands for a part of {instruction!r}"
    return instruction


def number(value: float) -> str:
    """A floating-point constant as TCL writes it."""
    return f"f{value!r}" if "e" not in repr(value) else f"f{value:.12f}"
