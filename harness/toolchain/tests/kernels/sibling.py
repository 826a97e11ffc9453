counted = 0
