package doctor

import (
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/ops"
)

// HF26: what status warns of, doctor does not call ok, also where doctor's own programs are held as usual.
func TestHF26_TheLineOfContainmentAgreesWithTheWarningsOfTheGateway(t *testing.T) {
	status := func(warnings ...ops.Warning) *ops.Status {
		return &ops.Status{Containment: ops.Containment{Level: "cgroup", Controllers: []string{"memory", "pids"}, SessionLimits: []string{"cpu", "memory", "pids"}}, Warnings: warnings}
	}
	for _, tt := range []struct {
		name   string
		status *ops.Status
		want   []Verdict
	}{
		{"nothing is weaker", status(ops.Warning{Code: "store.slow", Message: "slow"}), []Verdict{OK, OK}},
		{"the kernel refuses tags", status(ops.Warning{Code: "containment.tags", Message: "no prlimit"}), []Verdict{Warn, OK, Warn}},
		{"no group and no guardian", status(ops.Warning{Code: "containment.groups", Message: "no clone3"}, ops.Warning{Code: "containment.guardian", Message: "none"}), []Verdict{Warn, OK, Warn, Warn}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &checkup{status: tt.status, check: "containment"}
			c.checkContainment(t.Context())
			var got []Verdict
			for _, f := range c.findings {
				got = append(got, f.Verdict)
			}
			if !slices.Equal(got, tt.want) || !strings.HasPrefix(c.findings[0].Detail, "cgroup: ") {
				t.Errorf("%+v", c.findings)
			}
		})
	}
}

func TestTR7_DoctorNamesTheLimitsOfASessionThatNothingHolds(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []string
		want string
	}{
		{"all hold", []string{"cpu", "memory", "pids"}, "have limits of their own"},
		{"one does not", []string{"memory", "pids"}, "cpu_max of the environments has no effect"},
		{"none holds", nil, "memory_max, pids_max, cpu_max of the environments have no effect"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &checkup{check: "containment"}
			c.sessionLimits(tt.in)
			if got := c.findings[0]; !strings.Contains(got.Detail, tt.want) || (got.Verdict == Warn) != (len(tt.in) < 3) || (got.Verdict == Warn) != (got.Fix != "") {
				t.Errorf("%+v", got)
			}
		})
	}
}
