package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"gatewaytui/core/process/kernel"
)

// A child has its bounds before its first instruction, under any load of the machine, and we keep ours (HF3, HF4).
func TestHF3_AChildIsBoundedFromItsFirstInstruction(t *testing.T) {
	levels(t, "limits", func(t *testing.T, level Containment) {
		r := registry(t, at(level))
		before, beforeScore := kernel.MarksOf(os.Getpid()).Processes, score(t, "self")
		for range 20 {
			p := sh(t, r, `/bin/cat /proc/self/oom_score_adj; ulimit -Hu; ulimit -Su`)
			if exit := wait(t, p); exit.Code != 0 {
				t.Fatalf("exit %+v", exit)
			}
			text, _ := p.Output()
			lines := strings.Fields(text)
			want := strconv.FormatUint(r.processLimit, 10)
			if r.processLimit >= before || len(lines) != 3 || lines[0] != strconv.Itoa(max(toolScore, beforeScore)) || lines[1] != want || lines[2] != want {
				t.Fatalf("score and limits are %q, want %d and twice %s of %d", text, toolScore, want, before)
			}
		}
		if now := kernel.MarksOf(os.Getpid()).Processes; now != before || score(t, "self") != beforeScore {
			t.Errorf("our own limit is %d and was %d, our score %d and was %d", now, before, score(t, "self"), beforeScore)
		}
	})
}

// Where a child cannot be held at its exec it is bounded soon after.
func TestHF3_WithoutTracingAChildIsBoundedAsWell(t *testing.T) {
	r := New(Options{Life: testLife, HomeID: testHome(), KillGrace: short, Log: discard})
	r.untraceable = true
	opened(t, r)
	p := sh(t, r, `exec sleep 1000`)
	if m := kernel.MarksOf(p.PID()); m.Processes != r.processLimit || score(t, strconv.Itoa(p.PID())) < toolScore {
		t.Errorf("its limit is %d, want %d; its score %d", m.Processes, r.processLimit, score(t, strconv.Itoa(p.PID())))
	}
}

// A program that changes its rights as it starts is not traced: it would not change them.
func TestPrivilegedPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if privileged(path) {
		t.Error("an ordinary program is taken for a privileged one")
	}
	if err := unix.Chmod(path, unix.S_ISUID|0o755); err != nil {
		t.Fatal(err)
	}
	if !privileged(path) {
		t.Error("a set-user-ID program is taken for an ordinary one")
	}
}

func TestProcessReserve(t *testing.T) {
	for limit, want := range map[uint64]uint64{0: 0, 3: 3, 100: 75, 256: 192, 300: 236, 96365: 96301} {
		if got := below(limit); got != want {
			t.Errorf("of %d tools get %d, want %d", limit, got, want)
		}
	}
}

func score(t *testing.T, pid string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/" + pid + "/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
