package lines

import (
	"strings"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// Request prints a request of the inbox for the person who answers it. Its command is shown whole.
func (p Printer) Request(i ops.InboxItem) {
	left := ""
	if in := text.Until(i.Expires.Time); in != "" {
		left = ", expires in " + in
	}
	p.Say("request     %s of %s%s", i.ID, i.Session, left)
	for _, part := range []struct{ label, text string }{
		{"asks", i.Text}, {string(i.Kind), i.Command}, {"folder", i.Folder}, {"environment", i.Environment}, {"because", strings.Join(i.Reasons, "; ")},
	} {
		if part.text != "" {
			p.Text(part.label + strings.Repeat(" ", max(12-len(part.label), 1)) + part.text)
		}
	}
}
