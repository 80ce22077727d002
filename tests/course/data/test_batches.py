"""The split and the random windows."""

import pytest
import torch

from course.data.batches import get_batch, train_val_split


def test_the_split_is_by_position_in_tinyshakespeare_too():
    train, val = train_val_split(torch.arange(20))
    assert torch.equal(train, torch.arange(18))
    assert torch.equal(val, torch.tensor([18, 19]))
    assert [len(part) for part in train_val_split(torch.zeros(1_115_394))] == [1_003_854, 111_540]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int64])
def test_targets_are_the_inputs_one_step_later(dtype):
    ids = torch.arange(100, dtype=dtype)
    inputs, targets = get_batch(ids, block_size=5, batch_size=7)
    assert inputs.dtype == targets.dtype == torch.int64
    assert torch.equal(targets, inputs + 1)
    assert torch.equal(inputs, inputs[:, :1] + torch.arange(5))
    inputs, _ = get_batch(ids[:6], block_size=3, batch_size=500)
    assert inputs[:, 0].unique().tolist() == [0, 1, 2]  # the last window too


def test_the_generator_alone_decides_about_64_windows_of_256():
    first = get_batch(torch.arange(1000), generator=torch.Generator().manual_seed(1))
    torch.manual_seed(7)
    second = get_batch(torch.arange(1000), generator=torch.Generator().manual_seed(1))
    assert torch.equal(first[0], second[0])
    assert first[0].shape == first[1].shape == (64, 256)


def test_what_is_too_short_is_refused():
    get_batch(torch.arange(257))
    with pytest.raises(ValueError, match=r"257.*256"):
        get_batch(torch.arange(256))
