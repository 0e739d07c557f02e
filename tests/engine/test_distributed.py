"""Several processes together: collectives, data parallel training, and what is said when something is missing."""

from __future__ import annotations

import datetime
import socket
import subprocess
import sys

import pytest

from tapescope import engine as torch

dist = torch.distributed


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def together(rank, world, port, file):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    said = {"rank": dist.get_rank(), "world": dist.get_world_size()}
    t = torch.tensor([rank + 1.0, 2.0])
    dist.all_reduce(t)
    said["sum"] = t.tolist()
    t = torch.tensor([rank + 1])
    dist.all_reduce(t, op=dist.ReduceOp.MAX)
    said["max"] = t.tolist()
    parts = [torch.zeros(1) for _ in range(world)]
    dist.all_gather(parts, torch.tensor([float(rank)]))
    said["gathered"] = [p.item() for p in parts]
    t = torch.tensor([float(rank)])
    dist.broadcast(t, src=2)
    said["broadcast"] = t.item()
    dist.scatter(t, [torch.tensor([10.0 * i]) for i in range(world)] if rank == 0 else None)
    said["scattered"] = t.item()
    objects = [None] * world
    dist.all_gather_object(objects, {"r": rank})
    said["objects"] = objects

    torch.manual_seed(rank)  # each process starts from other weights; those of rank 0 count
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        model(torch.full((4, 2), float(rank + step))).square().mean().backward()
        optimizer.step()
    said["weights"] = model.module.weight.flatten().tolist()
    try:
        dist.all_reduce(torch.ones(1)) if rank else dist.barrier()
    except RuntimeError as error:
        said["mismatch"] = str(error)
    torch.save(said, f"{file}.{rank}")
    dist.destroy_process_group()


def test_three_processes_reduce_gather_and_train_together(tmp_path):
    file = str(tmp_path / "said")
    # In a process of its own: spawning imports the main module, and other tests put something else there.
    subprocess.run([sys.executable, __file__, str(free_port()), file], check=True, timeout=120)
    said = [torch.load(f"{file}.{r}") for r in range(3)]
    assert [s["rank"] for s in said] == [0, 1, 2]
    for s in said:
        assert s["sum"] == [6.0, 6.0] and s["max"] == [3] and s["gathered"] == [0.0, 1.0, 2.0] and s["broadcast"] == 2.0
        assert s["objects"] == [{"r": 0}, {"r": 1}, {"r": 2}] and "different collectives" in s["mismatch"]
        assert s["weights"] == said[0]["weights"]
    assert [s["scattered"] for s in said] == [0.0, 10.0, 20.0]
    # The same training in one process, on the data of all.
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        model(torch.cat([torch.full((4, 2), float(r + step)) for r in range(3)])).square().mean().backward()
        optimizer.step()
    torch.testing.assert_close(torch.tensor(said[0]["weights"]), model.weight.detach().flatten())


def test_one_process_alone():
    dist.init_process_group("gloo", rank=0, world_size=1)
    try:
        t = torch.ones(2)
        dist.all_reduce(t)
        dist.barrier()
        assert t.tolist() == [1.0, 1.0] and dist.get_rank() == 0 and dist.is_initialized()
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        assert list(model.state_dict()) == ["module.weight", "module.bias"]
        with model.no_sync():
            model(torch.ones(1, 2)).sum().backward()
        assert model.module.weight.grad.tolist() == [[1.0, 1.0]]
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group("gloo", rank=0, world_size=1)
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(ValueError, match="WORLD_SIZE expected, but not set"):
        dist.init_process_group("gloo")
    with pytest.raises(ValueError, match="Invalid backend: 'smoke'"):
        dist.init_process_group("smoke", rank=0, world_size=1)
    with pytest.raises(ValueError, match="has not been initialized"):
        dist.all_reduce(torch.ones(1))
    with pytest.raises(RuntimeError, match="only ranks \\[0\\] came"):
        dist.init_process_group(
            "gloo", f"tcp://127.0.0.1:{free_port()}", datetime.timedelta(seconds=0.3), world_size=2, rank=0
        )


if __name__ == "__main__":
    torch.multiprocessing.spawn(together, args=(3, int(sys.argv[1]), sys.argv[2]), nprocs=3)
