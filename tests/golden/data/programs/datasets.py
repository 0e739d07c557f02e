"""Datasets, samplers and their errors; the orders that seeds give."""

import warnings

D = torch.utils.data


def tell(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


x, y = torch.arange(10).float(), torch.arange(10)
ds = D.TensorDataset(x, y)
print(len(ds), ds[3], ds[-1], ds[2:4])
tell(lambda: D.TensorDataset(torch.ones(2), torch.ones(3)))
tell(lambda: ds[10])
both = ds + D.TensorDataset(x + 100, y)
print(len(both), both[12], both[-1], type(both).__name__, both.cumulative_sizes)
tell(lambda: both[-21])
tell(lambda: D.ConcatDataset([]))
sub = D.Subset(ds, [5, 1, 3])
print(len(sub), sub[0], sub.__getitems__([0, 2]))
tell(lambda: D.Dataset()[0])


class Count(D.IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


chain = Count(2) + Count(3)
print(list(chain), len(chain))
tell(lambda: D.ConcatDataset([Count(1)]))
tell(lambda: list(D.ChainDataset([ds])))
st = D.StackDataset(ds, y)
print(
    st[1],
    len(st),
    D.StackDataset(a=x, b=y)[2],
    st.__getitems__([1, 2]),
    D.StackDataset(a=x, b=sub.dataset).__getitems__([1]),
)
tell(lambda: D.StackDataset())
tell(lambda: D.StackDataset(x, a=y))
tell(lambda: D.StackDataset(x, torch.ones(3)))
torch.manual_seed(0)
print([s.indices for s in D.random_split(range(10), [7, 3])])
print([s.indices for s in D.random_split(range(10), [0.5, 0.25, 0.25], generator=torch.Generator().manual_seed(42))])
tell(lambda: D.random_split(range(10), [5, 4]))
tell(lambda: D.random_split(range(10), [1.5, -0.5]))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print([len(s) for s in D.random_split(range(2), [0.9, 0.05, 0.05])], [str(w.message) for w in caught])


class Own(D.Subset):
    def __getitem__(self, i):
        return 0


tell(lambda: Own(ds, [1]))

torch.manual_seed(1)
print(list(D.SequentialSampler(range(4))), list(D.RandomSampler(range(10))), list(D.RandomSampler(range(10))))
print(
    list(D.RandomSampler(range(5), num_samples=12)), list(D.RandomSampler(range(5), replacement=True, num_samples=40))
)
g = torch.Generator().manual_seed(5)
print(list(D.RandomSampler(range(10), generator=g)), list(D.RandomSampler(range(10), generator=g)))
print(list(D.SubsetRandomSampler([3, 5, 7, 9])), list(D.WeightedRandomSampler([0.1, 0.9, 0.4], 6)))
print(list(D.WeightedRandomSampler([0.1, 0.9, 0.4], 3, replacement=False)))
for drop in (False, True):
    b = D.BatchSampler(D.SequentialSampler(range(5)), 2, drop)
    print(list(b), len(b))
tell(lambda: D.RandomSampler(range(5), replacement=3))
tell(lambda: D.RandomSampler(range(5), num_samples=0))
tell(lambda: D.RandomSampler([]))
tell(lambda: D.WeightedRandomSampler([1.0], 0))
tell(lambda: D.WeightedRandomSampler([1.0], 1, 3))
tell(lambda: D.WeightedRandomSampler([[1.0]], 1))
tell(lambda: D.BatchSampler([1], 0, False))
tell(lambda: D.BatchSampler([1], 1, 3))
for more in ({}, {"drop_last": True}, {"shuffle": False}, {"seed": 3}):
    parts = [D.distributed.DistributedSampler(range(10), num_replicas=3, rank=r, **more) for r in range(3)]
    print([list(p) for p in parts], len(parts[0]))
parts[0].set_epoch(4)
print(list(parts[0]))
tell(lambda: D.distributed.DistributedSampler(range(10), num_replicas=3, rank=3))
