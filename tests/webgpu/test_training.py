"""Training: how many pipelines many shapes build, what memory does over many steps, and what a lost device leaves behind."""

import gc
import warnings

import numpy as np
import pytest

from tapescope import engine as torch
from tapescope.engine import nn
from tapescope.engine.backends.base import backend as backend_of

F = nn.functional


@pytest.fixture(autouse=True)
def device(need_vulkan):
    need_vulkan()
    torch.manual_seed(0)


@pytest.fixture
def fresh():
    """The engine's backend on a device that was just opened."""
    backend = backend_of("webgpu")
    backend.device.close()
    yield backend
    torch.webgpu.empty_cache()


def convolutional():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3, stride=2), nn.GELU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.1), nn.Linear(48, 7),
    ).to("webgpu")  # fmt: skip


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        n, s, d = x.shape
        q, k, v = self.qkv(self.first(x)).reshape(n, s, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.permute(0, 2, 1, 3).reshape(n, s, d))
        return x + self.down(F.gelu(self.up(self.second(x)), approximate="tanh"))


class Transformer(nn.Module):
    def __init__(self, width=24, heads=2, words=37):
        super().__init__()
        self.words = words
        self.token, self.place = nn.Embedding(words, width), nn.Embedding(80, width)
        self.blocks = nn.Sequential(Block(width, heads), Block(width, heads))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.token(ids) + self.place(torch.arange(ids.shape[1], device=ids.device))
        return F.linear(self.norm(self.blocks(x)), self.token.weight)


def images(i):
    n = 1 + i % 9
    return torch.randn(n, 3, 9 + i % 17, 10 + i * 7 % 23).to("webgpu"), torch.randint(0, 7, (n,)).to("webgpu")


def words(i):
    ids = torch.randint(0, 37, (1 + i % 7, 3 + i * 5 % 61)).to("webgpu")
    return ids[:, :-1], ids[:, 1:].reshape(-1)


def train(model, optimizer, batch, steps, clip=False):
    losses = []
    for i in range(steps):
        x, y = batch(i)
        optimizer.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out.reshape(-1, out.shape[-1]), y)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_fifty_shapes_of_two_networks_build_at_most_200_pipelines(fresh):
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*runs on the CPU")
        model = convolutional()
        train(model, torch.optim.AdamW(model.parameters(), lr=1e-3), images, 50)
        model = Transformer().to("webgpu")
        losses = train(model, torch.optim.Adam(model.parameters(), lr=1e-2), words, 50, clip=True)
    assert np.isfinite(losses).all() and losses[-1] < losses[0]
    assert torch.webgpu.memory_stats()["pipelines"] <= 200


def test_memory_does_not_grow(fresh):
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to("webgpu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(8, 16).to("webgpu"), torch.randint(0, 4, (8,)).to("webgpu")
    train(model, optimizer, lambda i, b=(x, y): b, 20)
    gc.collect()
    before, objects = torch.webgpu.memory_stats(), len(gc.get_objects())
    train(model, optimizer, lambda i, b=(x, y): b, 300)
    gc.collect()
    after = torch.webgpu.memory_stats()
    assert len(gc.get_objects()) < objects + 300
    for name in ("allocated_bytes", "peak_allocated_bytes", "reserved_bytes", "buffers_created", "pipelines"):
        assert after[name] <= before[name] * 1.1 + 4, name
    gpu = fresh.device.gpu
    assert len(gpu._buffers) <= after["buffers_created"] and len(gpu._groups) <= 4096
    del model, optimizer
    assert torch.webgpu.memory_stats()["allocated_bytes"] < after["allocated_bytes"]
    torch.webgpu.empty_cache()
    assert torch.webgpu.memory_stats()["reserved_bytes"] < after["reserved_bytes"]


def test_training_goes_on_from_host_copies_after_the_device_was_lost(fresh):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).to("webgpu")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    x, y = torch.randn(30, 6), torch.arange(30) % 3

    def batch(i):
        return x.to("webgpu"), y.to("webgpu")

    first = train(model, optimizer, batch, 10)
    kept = {k: v.cpu() for k, v in model.state_dict().items()}
    fresh.device.gpu.destroy()
    with pytest.raises(torch.webgpu.DeviceLost, match="was lost .*opens a new one.*host copies"):
        train(model, optimizer, batch, 3)
    with pytest.raises(torch.webgpu.StaleBuffer, match="the WebGPU device was lost"):
        next(model.parameters()).tolist()
    model.load_state_dict({k: v.to("webgpu") for k, v in kept.items()}, assign=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    more = train(model, optimizer, batch, 10)
    assert more[0] < first[0] and more[-1] < more[0]
