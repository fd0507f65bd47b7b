package main

import (
	"github.com/spf13/cobra"

	"gatewaytui/core/doctor"
	"gatewaytui/core/text"
)

func doctorVerb(p *program) *cobra.Command {
	var path string
	c := p.verb(&cobra.Command{
		Use: "doctor", Short: "check config, home, store, adapters and service definition, and suggest fixes",
		Example: "  gatewaytui doctor\n  gatewaytui doctor --json | jq '.checks[] | select(.verdict != \"ok\")'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.showCheckup(doctor.Run(cmd.Context(), doctor.Options{Home: p.home, Config: path, Getenv: p.getenv, Version: versionInfo().Version}))
		},
	})
	configFlag(c.Flags(), &path)
	return c
}

// showCheckup prints the findings; a failure among them is exit code 1.
func (p *program) showCheckup(findings []doctor.Result) error {
	count := map[doctor.Verdict]int{}
	for _, f := range findings {
		count[f.Verdict]++
	}
	if p.asJSON() {
		p.writeJSON(p.out, struct {
			OK       bool            `json:"ok"`
			Warnings int             `json:"warnings"`
			Failures int             `json:"failures"`
			Checks   []doctor.Result `json:"checks"`
		}{count[doctor.Fail] == 0, count[doctor.Warn], count[doctor.Fail], findings})
	} else {
		for _, f := range findings {
			p.say("%-5s %-12s %s", string(f.Verdict), f.Check, f.Detail)
			if f.Fix != "" {
				p.say("                   fix: %s", f.Fix)
			}
		}
		p.say("%d ok, %s, %s", count[doctor.OK], text.Count(count[doctor.Warn], "warning"), text.Count(count[doctor.Fail], "failure"))
	}
	if count[doctor.Fail] > 0 {
		return &outcome{code: exitFailed}
	}
	return nil
}
