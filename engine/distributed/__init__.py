"""`torch.distributed` over processes: the names that programs of data parallelism use, on one hub of sockets.

Rank 0 listens at MASTER_ADDR:MASTER_PORT; the others connect to it, and a collective is a message to rank 0 and its answer (see
`group.py`). That is right for any number of processes and quick for few; it needs no launcher. The backends "gloo", "nccl" and "mpi" of
PyTorch are accepted as names and all mean this one. Sharded tensors, pipelines, RPC and sub-groups over several hubs are not here.
"""

from __future__ import annotations

from .collectives import (
    ReduceOp,
    all_gather,
    all_gather_into_tensor,
    all_gather_object,
    all_reduce,
    barrier,
    broadcast,
    broadcast_object_list,
    gather,
    irecv,
    isend,
    recv,
    reduce,
    reduce_scatter,
    scatter,
    send,
)
from .group import (
    destroy_process_group,
    get_backend,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    new_group,
)
