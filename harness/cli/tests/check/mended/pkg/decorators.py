import functools


def counted(kernel):
    @functools.wraps(kernel)
    def call(*args):
        return kernel[(1,)](*args)

    return call
