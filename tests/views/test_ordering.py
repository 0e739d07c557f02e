"""Order and places within layers, without any graph."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tapescope.graphviz_views.ordering import Net, order_layers, place_layers


def net_of(layers, pieces, width=10.0, gap=5.0):
    """A net with so many elements a layer, numbered from the first layer on."""
    net = Net()
    for layer, count in enumerate(layers):
        for _ in range(count):
            net.add(layer, width, gap)
    for above, below in pieces:
        net.join(above, below, None, None, weight=1.0)
    return net


def crossings(net):
    place = {element: n for layer in net.layers for n, element in enumerate(layer)}
    count = 0
    for i, p in enumerate(net.pieces):
        for q in net.pieces[i + 1 :]:
            if net.layer[p.above] == net.layer[q.above]:
                sides = (place[p.above] - place[q.above]) * (place[p.below] - place[q.below])
                count += sides < 0
    return count


def test_upper_layers_are_ordered_for_their_users():
    net = net_of([4, 2], [(0, 4), (2, 4), (1, 5), (3, 5)])
    order_layers(net)
    assert crossings(net) == 0


@st.composite
def nets(draw):
    layers = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    pieces = []
    start = 0
    for upper, lower in itertools.pairwise(layers):
        for a in range(upper):
            pieces += [(start + a, start + upper + b) for b in draw(st.sets(st.integers(0, lower - 1), max_size=3))]
        start += upper
    return net_of(layers, pieces)


@settings(max_examples=100, deadline=None)
@given(nets())
def test_sweeps_never_end_worse_than_the_first(net):
    order_layers(net)
    assert sorted(e for layer in net.layers for e in layer) == list(range(len(net.layer)))
    swept = crossings(net)
    # one sweep down by hand, from the order of creation
    layers: list[list[int]] = [[e for e in range(len(net.layer)) if net.layer[e] == n] for n in range(len(net.layers))]
    spot: dict[int, float] = {}
    for layer in layers:
        for n, e in enumerate(layer):
            spot[e] = n - (len(layer) - 1) / 2
        keys = {
            e: (sum(spot[p.above] for p in net.into[e]) / len(net.into[e]) if net.into[e] else spot[e]) for e in layer
        }
        layer.sort(key=lambda e: (keys[e], spot[e]))
        for n, e in enumerate(layer):
            spot[e] = n - (len(layer) - 1) / 2
    net.layers = layers
    assert swept <= crossings(net)


@settings(max_examples=100, deadline=None)
@given(nets())
def test_places_keep_order_and_gaps(net):
    order_layers(net)
    place_layers(net)
    for layer in net.layers:
        for left, right in itertools.pairwise(layer):
            assert net.x[right] - net.x[left] >= net.width[left] + net.gap[right] - 1e-9


def test_an_element_stands_between_its_neighbours():
    net = net_of([2, 1], [(0, 2), (1, 2)])
    order_layers(net)
    place_layers(net)
    assert abs(net.x[2] - (net.x[0] + net.x[1]) / 2) < 1e-9
