package host

import (
	"fmt"
	"os"
	"slices"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/config"
	"gatewaytui/core/doctor"
	"gatewaytui/core/fence"
	"gatewaytui/core/files"
	"gatewaytui/core/gateway"
	"gatewaytui/core/instance"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/service"
	"gatewaytui/core/term"
)

// options are the gateway's, from the parts and what this start found.
func (l *life) options(manager service.Supervisor) gateway.Options {
	self := instance.Self()
	o := gateway.Options{
		Log: l.log, Platforms: l.parts.platforms, Broken: l.parts.broken, Open: l.parts.open,
		Identity: gateway.Identity{Life: l.id, PID: self.PID, StartTicks: self.StartTicks, BootID: self.BootID, Version: l.o.Version},
		Start: gateway.Start{
			Changes: l.loaded.Changes(), NoResume: l.o.NoResume, FreshStore: l.o.FreshStore, ReadOnlyStore: l.o.ReadOnlyStore,
			TrustClock: l.o.TrustClock,
		},
		Home: gateway.Home{
			Dir: l.home.Dir(), ID: l.home.ID(), Database: l.home.Database(), Search: l.home.Search(), Workdir: l.home.Work(), Lives: l.files.List(),
			ConfigFile: ops.ConfigFile{Path: l.loaded.Path, LoadedAt: ops.At(l.loaded.At)},
		},
		Supervisor: gateway.Supervisor{Name: manager.Name(), Budget: manager.Budget, Source: manager.Source, Notify: manager.Notify},
		Host:       l, Redactor: l.redactor, APIAccess: l.apiAccess(), Limits: l.parts.limits, Media: l.parts.media, Root: os.Geteuid() == 0,
		Settings: l.settings(&l.loaded, l.parts.models, l.parts.folder, l.secrets), Configs: &configs{l: l, inForce: &l.loaded, secrets: l.secrets},
	}
	o.Warnings = slices.Concat(l.loaded.Warnings, l.dangers(), manager.Warnings, l.exposures(o.APIAccess))
	marker, found, err := l.home.ConsumeMarker()
	if err != nil {
		o.Warnings = append(o.Warnings, warning("marker", err.Error()))
	}
	o.LifeBefore, o.MarkerUnread, o.DamagedBefore = marker.Life, found && marker.Life == "", marker.Damaged
	o.Warnings = append(o.Warnings, l.home.Warnings()...)
	for _, a := range l.home.Quarantined() {
		o.Warnings = append(o.Warnings, ops.Warning{Code: "aside", Message: term.Clean(a.String(), 600), Since: ops.At(a.At)})
	}
	return o
}

// settings are what the gateway works by with a config.
func (l *life) settings(loaded *config.Loaded, models *model.Pool, folder *files.Folder, secrets config.Credentials) gateway.Settings {
	return gateway.Settings{Config: loaded.Config, Models: models, Folder: folder, Hooks: hooksOf(loaded.Config, secrets), Fence: func(e fence.Environment) *fence.Fence {
		return loaded.Fence(e, l.home.Dir(), l.home.Work(), l.o.Getenv)
	}}
}

// warning is a warning that begins now.
func warning(code, message string) ops.Warning {
	return ops.Warning{Code: code, Message: message, Since: ops.At(time.Now())}
}

// exposures warn of secrets that are missing, short or readable by others.
func (l *life) exposures(access *ops.APIAccess) (out []ops.Warning) {
	models := l.loaded.Config.ModelsByName()
	for _, name := range config.Names(models) {
		m, s := models[name], l.secrets.Models[name]
		if m.Provider == config.Scripted || !s.Missing() || config.LocalURL(m.BaseURL) {
			continue
		}
		out = append(out, warning("model.credentials", "the endpoint of ["+table(name)+"] gets no key: "+(&adapter.CredentialsError{Variable: s.Source, Why: s.Why()}).Error()))
	}
	if s := l.secrets.Transcription; s.Missing() && l.loaded.Config.Transcription.BaseURL != "" {
		out = append(out, warning("transcription.credentials", "the endpoint of [transcription] gets no key: "+(&adapter.CredentialsError{Variable: s.Source, Why: s.Why()}).Error()))
	}
	for _, source := range l.secrets.Short() {
		out = append(out, warning("config.secret_short", fmt.Sprintf(
			"the secret in %s has fewer than %d characters: it can be guessed, and is not masked in what tools print", term.Clean(source, maxLine), term.MinMasked,
		)))
	}
	if l.exposed != nil {
		out = append(out, warning("process.unprotected", "tools can read what this process holds: "+term.Clean(l.exposed.Error(), maxLine)))
	}
	if a := access; a != nil {
		l.log.Info("api access", "event", ops.LogAPIAccess, "access", a.String(), "by", a.By, "key_file", a.KeyFile, "key_source", a.KeySource)
		if a.Problem != "" {
			out = append(out, warning("api.key", "other users' programs cannot use the API: "+a.Problem))
		}
	}
	return out
}

// dangers are the settings that are dangerous enough to be a warning for as long as the gateway runs.
func (l *life) dangers() []ops.Warning {
	var out []ops.Warning
	facts := doctor.Facts{Config: l.loaded.Path, UID: os.Geteuid(), Getenv: l.o.Getenv}
	for _, f := range doctor.Dangers(l.loaded.Config, facts) {
		w := f.Warning()
		w.Since = ops.At(time.Now())
		out = append(out, w)
	}
	return out
}
