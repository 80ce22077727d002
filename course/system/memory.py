"""Want of memory, by its several names."""


def ran_out_of_memory(error: BaseException) -> bool:
    """Test that this is Python's or PyTorch's way to say so."""
    if isinstance(error, MemoryError):
        return True
    if not isinstance(error, RuntimeError):
        return False
    try:
        said = str(error)
    except Exception:  # of a class of a student's own
        return False
    return "can't allocate memory" in said or "std::bad_alloc" in said
