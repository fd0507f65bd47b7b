package lines

import (
	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// Preview prints what a command would do; what names the command and its target.
func (p Printer) Preview(what string, preview ops.Preview) {
	p.Say("%s %s", what, "would")
	nothing := true
	for _, part := range []struct {
		does string
		what []string
	}{
		{"wait for", preview.WaitsFor},
		{"interrupt", preview.Interrupt},
		{"close", preview.Closes},
		{"kill", preview.Kills},
		{"lose", preview.Loses},
		{"keep", preview.Keeps},
	} {
		for i, what := range part.what {
			nothing = false
			if i == MaxShown {
				p.Say("  %-10s and %d more", part.does, len(part.what)-i)
				break
			}
			p.Say("  %-10s %s", part.does, what)
		}
	}
	if nothing {
		p.Say("  end nothing that runs")
	}
	if preview.WorstCaseMS > 0 {
		p.Say("  %-10s at most %s", "take", text.Millis(preview.WorstCaseMS))
	}
}
