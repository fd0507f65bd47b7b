package gateway

import (
	"slices"

	"gatewaytui/core/config"
	"gatewaytui/core/process"
	"gatewaytui/core/term"
	"gatewaytui/core/tool"
)

// tools are those that the config enables, in the order of CONTRACT.md, 5. workdir is where commands run if the config
// says nothing else; no result holds a known value of secrets (HF23).
func tools(cfg config.Tools, p config.Process, workdir string, processes *process.Registry, secrets *term.Redactor) *tool.Set {
	if cfg.Workdir != "" {
		workdir = cfg.Workdir
	}
	opts := tool.Options{
		Timeout: cfg.Timeout.Duration, OutputLimit: int(cfg.OutputLimit), Workdir: workdir,
		KillGrace: p.KillGrace.Duration, Keep: p.Survivors == config.SurvivorsAdopt,
	}
	var enabled []tool.Tool
	for _, t := range []tool.Tool{tool.NewTerminal(processes, opts), tool.NewProcess(processes, opts), tool.Delegate{}} {
		if slices.Contains(cfg.Enabled, t.Spec().Name) {
			enabled = append(enabled, t)
		}
	}
	return tool.NewSet(opts.OutputLimit, enabled...).Masking(secrets.Mask)
}
