"""DataLoader: orders for a seed, batches, collating, contradictions."""

import collections

import numpy as np

D = torch.utils.data


def tell(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


x, y = torch.arange(20).float().reshape(10, 2), torch.arange(10)
ds = D.TensorDataset(x, y)
torch.manual_seed(0)
for options in ({}, {"batch_size": 4}, {"batch_size": 4, "drop_last": True}, {"batch_size": None}):
    loader = D.DataLoader(ds, **options)
    print(options, len(loader), [b[1].tolist() for b in loader])
loader = D.DataLoader(ds, batch_size=4, shuffle=True)
for _ in range(2):
    print([b[1].tolist() for b in loader])
print(torch.rand(2))
g = torch.Generator().manual_seed(7)
loader = D.DataLoader(ds, batch_size=4, shuffle=True, generator=g)
for _ in range(2):
    print([b[1].tolist() for b in loader])
print(torch.rand(2))
loader = D.DataLoader(D.Subset(ds, [9, 7, 5, 3, 1]), batch_size=2, shuffle=True)
print([b for b in loader])
print([b for b in D.DataLoader(ds, batch_sampler=[[0, 1], [5]])], [b for b in D.DataLoader(ds, sampler=[3, 1])])
print([b for b in D.DataLoader(range(5), batch_size=2)], [b for b in D.DataLoader([1.5, 2.5], batch_size=2)])
print(list(D.DataLoader(list("abc"), batch_size=2)), list(D.DataLoader([True, False], batch_size=2)))
print(list(D.DataLoader(ds, batch_size=5, collate_fn=len)))
next(iter(loader))
it = iter(D.DataLoader(ds, batch_size=8))
print(len(it), next(it)[1], next(it)[1])
tell(lambda: next(it))


class Count(D.IterableDataset):
    def __iter__(self):
        return iter(range(5))


for options in ({"batch_size": 2}, {"batch_size": 2, "drop_last": True}, {"batch_size": None}):
    print(list(D.DataLoader(Count(), **options)))
tell(lambda: len(D.DataLoader(Count())))

Point = collections.namedtuple("Point", "x y")
for batch in (
    [(1, 2.0), (3, 4.0)], [[1, 2], [3, 4]], [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], [Point(1, 2), Point(3, 4)], ["a", "b"],
    [torch.ones(2), torch.zeros(2)], [np.ones(2), np.zeros(2)], [np.float32(1), np.float32(2)], [np.int64(1), np.int64(2)],
    [1, 2.5], [True, False], [b"a", b"b"], [collections.OrderedDict(a=1), collections.OrderedDict(a=2)], [((1,),), ((2,),)],
    [(torch.tensor(1), [1, (2, "z")])] * 2,
):  # fmt: skip
    print(D.default_collate(batch))
for bad in ([{1}, {2}], [[1], [1, 2]], [None, None], [torch.ones(2), torch.ones(3)], [np.array(["a"])], [object()]):
    tell(lambda: str(D.default_collate(bad))[:0])
for data in (1, "a", (1, 2), [np.ones(2)], {"a": np.int64(3)}, Point(np.ones(1), 2), np.array(["a"]), torch.ones(1)):
    print(D.default_convert(data))

for options in (
    {"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"persistent_workers": True}, {"shuffle": True, "sampler": [1]},
    {"batch_sampler": [[1]], "batch_size": 2}, {"batch_size": None, "drop_last": True}, {"batch_size": 0}, {"drop_last": 3},
    {"multiprocessing_context": "fork"},
):  # fmt: skip
    tell(lambda: D.DataLoader(ds, **options))
for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
    tell(lambda: D.DataLoader(Count(), **options))
tell(lambda: setattr(loader, "batch_size", 3))
tell(lambda: setattr(loader, "dataset", 3))
print(loader.batch_size, type(loader.sampler).__name__, type(loader.batch_sampler).__name__, D.get_worker_info())


class Squares(D.Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, i):
        return i * i, {"name": str(i)}


print(list(D.DataLoader(Squares(), batch_size=2)))


class Batched(Squares):
    def __getitems__(self, numbers):
        print("all of", numbers)
        return [self[i] for i in numbers]


print(list(D.DataLoader(Batched(), batch_size=3)))
