package process

import (
	"slices"
	"testing"
)

func TestLimitFiles_AreThoseOfOurGroupsAndAbove(t *testing.T) {
	const mounts = "31 24 0:27 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n" +
		"32 24 0:28 / /sys/fs/cgroup/cpu rw,nosuid - cgroup cgroup rw,cpu\n" +
		"33 24 0:29 / /sys/fs/cgroup/a\\040b rw - cgroup2 cgroup2 rw\n"
	for _, tt := range []struct {
		name, mounts, own string
		want              []string
	}{
		{"version 2", mounts, "0::/user/unit\n", []string{"/sys/fs/cgroup/a b/user/unit/memory.max", "/sys/fs/cgroup/a b/user/memory.max", "/sys/fs/cgroup/a b/memory.max"}},
		{"version 1", mounts, "4:cpu:/x\n5:memory:/x\n", []string{"/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}},
		{"both", mounts, "5:memory:/\n0::/\n", []string{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/a b/memory.max"}},
		{"a namespace that hides where we are", mounts, "0::/../x\n", nil},
		{"no mount", "", "0::/x\n", nil},
		{"nothing", mounts, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := limitFiles(memoryController, tt.mounts, tt.own); !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
