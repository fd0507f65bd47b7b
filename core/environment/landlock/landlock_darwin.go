package landlock

// ABI is 0: only Linux has landlock.
func ABI() int { return 0 }

// Filters reports false: only Linux has seccomp.
func Filters() bool { return false }
