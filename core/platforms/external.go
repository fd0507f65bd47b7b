//go:build !no_external

package platforms

import (
	"path/filepath"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/external"
	"gatewaytui/core/config"
)

func init() {
	program = func(name string, e config.External) (any, func(Host) adapter.Platform) {
		options := external.Options{Name: name, Command: e.Command, EnvPass: e.EnvPass, Settings: e.Settings, Groups: e.Groups}
		return options, func(h Host) adapter.Platform {
			o := options
			o.Workdir, o.Spawn, o.KillGrace, o.Log = filepath.Join(h.Adapters, name), h.Spawn, h.KillGrace, h.Log
			return external.New(o)
		}
	}
}
