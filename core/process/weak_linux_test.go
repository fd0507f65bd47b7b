package process

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

func weak(r *Registry, code string) bool {
	return slices.ContainsFunc(r.Weaknesses(), func(w ops.Warning) bool { return w.Code == code && w.Message != "" && !w.Since.IsZero() })
}

// While no guardian watches it is a weakness, and then no longer (HF26).
func TestHF26_AGuardianThatIsGoneIsAWeakness(t *testing.T) {
	r := registry(t, func(o *Options) { o.Guardian = true })
	pid := guardianOf(t, r, 0)
	if all := r.Weaknesses(); len(all) > 0 {
		t.Fatalf("usually there are %+v", all)
	}
	eventually.True(t, "the lack of a guardian is a weakness", func() bool {
		if now, _ := r.Guardian(); now != 0 { // the pause before the next one doubles each time
			_ = unix.Kill(now, unix.SIGKILL)
		}
		return weak(r, WeakGuardian)
	})
	guardianOf(t, r, pid)
	eventually.True(t, "the weakness ends with the next guardian", func() bool { return !weak(r, WeakGuardian) })
}

// Without tags and without the groups that there were, the registry says so; one that is closed says nothing.
func TestHF26_RefusedTagsAndLostGroupsAreWeaknesses(t *testing.T) {
	r := registry(t)
	if all := r.Weaknesses(); len(all) > 0 {
		t.Fatalf("usually there are %+v", all)
	}
	r.mu.Lock()
	r.tagless = errRefused
	r.mu.Unlock()
	r.noteUngrouped(errRefused)
	if !weak(r, WeakTags) || !weak(r, WeakGroups) {
		t.Errorf("the weaknesses are %+v", r.Weaknesses())
	}
	r.noteUngrouped(nil)
	if weak(r, WeakGroups) {
		t.Error("groups that work again are a weakness")
	}
	if all := New(Options{Log: discard}).Weaknesses(); len(all) > 0 {
		t.Errorf("a registry that is not open has %+v", all)
	}
}
