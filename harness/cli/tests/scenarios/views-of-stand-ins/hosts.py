def through_a_clone(kernel, grid, args):
    whole = args["x"]
    made = whole.clone()
    left = made[:, :32]
    kernel[grid](left, args["w"], n=args["n"], row=args["row"], BLOCK=args["BLOCK"])
    whole.copy_(made)


def of_a_sum(kernel, grid, args):
    kernel[grid](args["x"] + 0, args["w"], n=args["n"], row=args["row"], BLOCK=args["BLOCK"])
