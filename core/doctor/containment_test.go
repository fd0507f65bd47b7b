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
		return &ops.Status{Containment: ops.Containment{Level: "cgroup", Controllers: []string{"memory", "pids"}}, Warnings: warnings}
	}
	for _, tt := range []struct {
		name   string
		status *ops.Status
		want   []Verdict
	}{
		{"nothing is weaker", status(ops.Warning{Code: "store.slow", Message: "slow"}), []Verdict{OK}},
		{"the kernel refuses tags", status(ops.Warning{Code: "containment.tags", Message: "no prlimit"}), []Verdict{Warn, Warn}},
		{"no group and no guardian", status(ops.Warning{Code: "containment.groups", Message: "no clone3"}, ops.Warning{Code: "containment.guardian", Message: "none"}), []Verdict{Warn, Warn, Warn}},
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
