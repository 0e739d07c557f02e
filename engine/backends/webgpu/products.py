"""Launches of the matrix products: which reading form, which tile, and whether K is split."""

from __future__ import annotations

from typing import Any

from ....webgpu_kernels import matmul as kernels
from ....webgpu_kernels.pointwise import rank_class
from ....webgpu_kernels.wgsl import MAX_STEPS, MAX_WORKGROUPS, TYPES
from .array import GpuArray, OnHost, broadcast, merged, numel, row_major, span, spread
from .gpu import DISPATCH
from .memory import TooLarge
from .pointwise import WORD, Pointwise, part


class Products:
    """`mm`, `bmm`, `mv`, `dot` and their sums with something on the device."""

    def __init__(self, backend: Any):
        self.backend = backend
        self.plans: dict[Any, Any] = backend.cache()

    def mm(self, a: GpuArray, b: GpuArray) -> GpuArray:
        """Matrices, or stacks of them with broadcast leading dimensions."""
        return self._product(a, b, None, 1, 1)

    def addmm(self, bias: GpuArray, a: GpuArray, b: GpuArray, beta: Any, alpha: Any) -> GpuArray:
        """alpha * a @ b + beta * bias; a bias that is not counted (beta 0) is not read."""
        return self._product(a, b, bias, beta, alpha)

    def mv(self, a: GpuArray, x: GpuArray) -> GpuArray:
        """A matrix times a vector."""
        column = GpuArray(x.block, x.dtype, (*x.shape, 1), (*x.strides, 1), x.offset, x.contiguous)
        out = self._product(a, column, None, 1, 1)
        return GpuArray(out.block, out.dtype, out.shape[:-1], row_major(out.shape[:-1]))

    def dot(self, x: GpuArray, y: GpuArray) -> GpuArray:
        """The inner product of two vectors."""
        backend = self.backend
        return backend.kernels["sum"](self._times(x, y), (0,), False)

    def baddbmm(self, bias: GpuArray, a: GpuArray, b: GpuArray, beta: Any, alpha: Any) -> GpuArray:
        """alpha * a @ b + beta * bias of stacks of matrices."""
        return self._joined(self._product(a, b, None, 1, 1), bias, beta, alpha)

    def addbmm(self, bias: GpuArray, a: GpuArray, b: GpuArray, beta: Any, alpha: Any) -> GpuArray:
        """The same with the products of the stack added up."""
        total = self.backend.kernels["sum"](self._product(a, b, None, 1, 1), (0,), False)
        return self._joined(total, bias, beta, alpha)

    def addmv(self, bias: GpuArray, a: GpuArray, x: GpuArray, beta: Any, alpha: Any) -> GpuArray:
        """alpha * a @ x + beta * bias of a matrix and a vector."""
        return self._joined(self.mv(a, x), bias, beta, alpha)

    def addr(self, bias: GpuArray, x: GpuArray, y: GpuArray, beta: Any, alpha: Any) -> GpuArray:
        """alpha * (x y^T) + beta * bias."""
        column = GpuArray(x.block, x.dtype, (*x.shape, 1), (*x.strides, 0), x.offset, x.contiguous)
        return self._joined(self._times(column, y), bias, beta, alpha)

    def trace(self, a: GpuArray) -> GpuArray:
        """The sum of the diagonal of the last two dimensions."""
        n = min(a.shape[-2:])
        line = GpuArray(a.block, a.dtype, (*a.shape[:-2], n), (*a.strides[:-2], sum(a.strides[-2:])), a.offset, False)
        return self.backend.kernels["sum"](line, (len(a.shape) - 2,), False)

    def _joined(self, made: GpuArray, bias: GpuArray, beta: Any, alpha: Any) -> GpuArray:
        """alpha * made + beta * bias; a bias that is not counted (beta 0) is not read."""
        if beta == 0:
            return made if alpha == 1 else self.backend.products["scaled"](made, alpha)
        return self.backend.products["affine"](made, bias, alpha, beta)

    def _times(self, x: GpuArray, y: GpuArray) -> GpuArray:
        return self.backend.products["times"](x, y)

    def _product(self, a: GpuArray, b: GpuArray, bias: GpuArray | None, beta: Any, alpha: Any) -> GpuArray:
        try:
            return self._whole(a, b, bias, beta, alpha)
        except TooLarge:
            made = self._in_pieces(a, b)
        return made if bias is None else self._joined(made, bias, beta, alpha)

    def _in_pieces(self, a: GpuArray, b: GpuArray) -> GpuArray:
        """The product of operands that no binding holds: halves along the outermost dimension of the largest, as often as needed."""
        backend = self.backend
        lead = broadcast(a.shape[:-2], b.shape[:-2])
        shape = (*lead, a.shape[-2], b.shape[-1])
        limit = backend.device.pool.binding_bytes - 512
        size = backend.itemsize(a.dtype)
        if numel(shape) * size > limit:
            dim = next(d for d, s in enumerate(shape) if s > 1)
            out = backend.empty(shape, a.dtype)
            for start, end in _halves(shape[dim]):
                made = self._product(*_cut(backend, a, b, dim - len(shape), start, end), None, 1, 1)
                backend.copy(part(backend, out, shape, dim, start, end), made)
            return out
        whole = max((a, b), key=lambda x: span(x.shape, x.strides))
        if span(whole.shape, whole.strides) * size <= limit:  # only the blocks are too large
            a, b = (part(backend, x, x.shape, 0, 0, x.shape[0]) for x in (a, b))
            return self._whole(a, b, None, 1, 1)
        axis = max(range(len(whole.shape)), key=lambda d: whole.strides[d] if whole.shape[d] > 1 else -1)
        if axis == len(whole.shape) - (1 if whole is a else 2):  # along K: two products to add
            halves = [
                self._product(
                    part(backend, a, a.shape, len(a.shape) - 1, *h), part(backend, b, b.shape, len(b.shape) - 2, *h), None, 1, 1
                )
                for h in _halves(a.shape[-1])
            ]  # fmt: skip
            return backend.joins["sum"](*halves)
        axis -= len(whole.shape)
        halves = [
            self._product(*_cut(backend, a, b, axis, start, end), None, 1, 1)
            for start, end in _halves(whole.shape[axis])
        ]
        return backend.kernels["cat"](halves, len(shape) + axis)

    def _whole(self, a: GpuArray, b: GpuArray, bias: GpuArray | None, beta: Any, alpha: Any) -> GpuArray:
        key = (
            a.dtype, a.shape, a.strides, a.offset & 3, b.shape, b.strides, b.offset & 3,
            bias and (bias.shape, bias.strides), beta == 0,
        )  # fmt: skip
        plan = self.plans.get(key)
        if plan is None:
            if len(self.plans) > 2048:
                self.plans.clear()
            plan = self.plans[key] = self._plan(a, b, bias, beta)
        shape, nbytes, launches, splits, kind = plan
        backend = self.backend
        device = backend.device
        out = GpuArray(device.pool.take(nbytes), a.dtype, shape, row_major(shape))
        if launches is None:
            backend._fill(0, out=out)
            return out
        if not launches:
            if bias is not None and nbytes:
                backend._fill(0, out=out)
                return backend.products["affine"](out, bias, alpha, beta)
            return out
        target = (
            out if splits == 1 else GpuArray(device.pool.take(splits * numel(shape) * 4), kind, (splits, *shape), ())
        )
        use_bias = bias is not None and beta != 0 and splits == 1
        for pipeline, grid, words, tail, work, a_step, b_step, units in launches:
            head = [tail, a.offset // units[0] + a_step, b.offset // units[1] + b_step, bias.offset if use_bias else 0]  # type: ignore[union-attr]
            handles = [a.block.handle, b.block.handle]
            values = [*head, *words]
            if use_bias:
                handles.append(bias.block.handle)  # type: ignore[union-attr]
                values += [WORD[units[2]](alpha), WORD[units[2]](beta)]
            handles.append(target.block.handle)
            device.launch(pipeline, grid, handles, values, work)
        if splits > 1:
            target = GpuArray(target.block, kind, (splits, *shape), row_major((splits, *shape)))
            total = backend.kernels["sum"](target, (0,), False)
            out = total if total.dtype is a.dtype else backend.cast(total, a.dtype)
            if bias is not None and (beta != 0 or alpha != 1):
                return (
                    backend.products["affine"](out, bias, alpha, beta)
                    if beta != 0
                    else backend.products["scaled"](out, alpha)
                )
        elif bias is not None and not use_bias and alpha != 1:
            return backend.products["scaled"](out, alpha)
        return out

    def commands(self, a: GpuArray, b: GpuArray, handles: tuple[int, int, int]) -> list[int] | None:
        """The launches of a product of arrays that lie as these do, on buffers of the same size and a result; for measuring.

        None for products that are more than launches of one kernel.
        """
        _, _, launches, splits, _ = self._plan(a, b, None, 1)
        if not launches or splits != 1:
            return None
        out: list[int] = []
        for pipeline, grid, words, tail, _, a_step, b_step, units in launches:
            values = [tail, a.offset // units[0] + a_step, b.offset // units[1] + b_step, 0, *words]
            out += [DISPATCH, pipeline, *grid, len(handles), *handles, len(values), *values]
        return out

    def _plan(self, a: GpuArray, b: GpuArray, bias: GpuArray | None, beta: Any) -> tuple[Any, ...]:
        backend = self.backend
        lead = broadcast(a.shape[:-2], b.shape[:-2])
        m, depth, n = a.shape[-2], a.shape[-1], b.shape[-1]
        shape = (*lead, m, n)
        code = backend.code(a.dtype)
        nbytes = numel(shape) * TYPES[code].itemsize
        compute = TYPES[code].compute
        if not numel(shape):
            return shape, 0, (), 1, a.dtype
        if not depth:
            return shape, nbytes, None if bias is None or beta == 0 else (), 1, a.dtype
        sizes, (a_lead, b_lead) = merged(
            lead, [spread(a.shape[:-2], a.strides[:-2], lead), spread(b.shape[:-2], b.strides[:-2], lead)]
        )
        batch = list(zip(sizes, a_lead, b_lead))[::-1]
        layers = numel(lead)
        rank = rank_class(len(batch), kernels.BATCH_RANKS)
        tiles, threads = backend.profile.tiles, backend.profile.threads
        tile = kernels.tile_for(m, n, layers, tiles, threads)
        (a_row, a_k), (b_k, b_col) = a.strides[-2:], b.strides[-2:]
        a_row, a_k = (0 if m == 1 else a_row), (1 if depth == 1 else a_k)
        b_k, b_col = (1 if depth == 1 else b_k), (0 if n == 1 else b_col)
        a_form = kernels.form_of_a(a_row, a_k, a.offset, a_lead if layers > 1 else (), depth, tile.rows)
        b_form = kernels.form_of_b(b_k, b_col, b.offset, b_lead if layers > 1 else (), depth, tile.cols)
        splits, chunk = 1, depth
        busy = -(-m // tile.rows) * -(-n // tile.cols) * layers
        if busy < threads and depth >= 512 and compute == "f32":
            splits = min(-(-threads // busy), depth // 128, 64)
            chunk = -(-depth // splits)
            chunk += -chunk % 4
            splits = -(-depth // chunk)
        if -(-chunk // 4) > MAX_STEPS:
            if compute != "f32":
                raise OnHost(f"sums of {depth} products are more than its kernel takes")
            splits = -(-depth // (2 * MAX_STEPS))
            chunk = -(-depth // splits)
            chunk += -chunk % 4
            splits = -(-depth // chunk)
        store4 = n % 4 == 0 and tile.cols >= 4
        with_bias = bias is not None and beta != 0 and splits == 1
        out_code = "f32" if splits > 1 else code
        kernel = kernels.build(
            code, code, out_code, a_form, b_form, tile, store4=store4, batch=rank, split=splits > 1,
            bias=backend.code(bias.dtype) if with_bias else None,  # type: ignore[union-attr]
        )  # fmt: skip
        pipeline = backend.device.pipeline(kernel)
        bias_words: Any = None
        if with_bias:
            assert bias is not None
            bias_words = (*spread(bias.shape, bias.strides, (m, n)), 0, 0)
        units = (4 if a_form != "s" else 1, 4 if b_form != "s" else 1, compute if compute != "bool" else "u32")
        launches = []
        step = max(1, MAX_WORKGROUPS // splits)
        if layers > step and len(batch) > 1:
            raise ValueError(
                f"a stack of {layers} matrix products in {len(batch)} uneven dimensions is too many for one launch"
            )
        for first in range(0, layers, step):
            count = min(step, layers - first)
            made = kernels.words(
                (0, 0, 0, 0), (m, n, depth), (a_row, a_k), (b_k, b_col), n, chunk, batch, rank, m * n, count,
                (a_form, b_form), store4, bias_words,
            )  # fmt: skip
            # The offsets come first and alpha and beta last; both are filled in by each call.
            words = made[4:-2] if with_bias else made[4:]
            tail = first * m * n // (4 if store4 else 1)
            a_step, b_step = (first * batch[0][1] // units[0], first * batch[0][2] // units[1]) if first else (0, 0)
            work = count * m * n * depth
            launches.append(
                (pipeline, kernels.grid(m, n, count * splits, tile), words, tail, work, a_step, b_step, units)
            )
        return shape, nbytes, launches, splits, backend.dtypes.float32 if splits > 1 else a.dtype


def _halves(n: int) -> tuple[tuple[int, int], tuple[int, int]]:
    middle = -(-n // 8) * 4 if n >= 8 else n // 2  # a multiple of four keeps reads of four elements possible
    return (0, middle), (middle, n)


def _cut(backend: Any, a: GpuArray, b: GpuArray, axis: int, start: int, end: int) -> tuple[GpuArray, GpuArray]:
    """The operands of a part of the result, along `axis` of it (counted from the end)."""
    out = []
    for x, own in ((a, -2), (b, -1)):
        other = axis >= -2 and axis != own
        if other or -axis > len(x.shape) or x.shape[axis] == 1:
            out.append(x)
        else:
            out.append(part(backend, x, x.shape, len(x.shape) + axis, start, end))
    return out[0], out[1]


def register(backend: Any) -> None:
    """Enter the products into the backend's table."""
    products = backend.product_family = Products(backend)
    for name in ("mm", "bmm"):
        backend.kernels[name] = products.mm
    for name in ("addmm", "baddbmm", "addbmm", "addmv", "addr", "mv", "dot", "trace"):
        backend.kernels[name] = getattr(products, name)
    backend.kernels["vdot"] = products.dot  # complex vectors never come here
    backend.products = {
        "times": Pointwise(backend, "times", "x * y", ("x", "y"), "same"),
        "affine": Pointwise(backend, "affine", "x * a + y * b", ("x", "y", "a", "b"), "same"),
        "scaled": Pointwise(backend, "scaled", "x * a", ("x", "a"), "same"),
    }
