package service

// parentAndGroup are empty: launchd is known by its variable.
func parentAndGroup(int) (parent, cgroup string) { return "", "" }
