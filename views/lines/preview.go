package lines

import (
	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// Preview prints what a command would do; what names the command and its target.
func (p Printer) Preview(what string, preview ops.Preview) {
	p.Say("%s %s", what, "would")
	nothing := true
	for _, part := range preview.Parts() {
		for i, what := range part.What {
			nothing = false
			if i == MaxShown {
				p.Say("  %-10s and %d more", part.Does, len(part.What)-i)
				break
			}
			p.Say("  %-10s %s", part.Does, what)
		}
	}
	if nothing {
		p.Say("  end nothing that runs")
	}
	if preview.WorstCaseMS > 0 {
		p.Say("  %-10s at most %s", "take", text.Millis(preview.WorstCaseMS))
	}
}
