package host

import (
	"os"
	"time"

	"gatewaytui/core/gateway"
	"gatewaytui/core/instance"
	"gatewaytui/core/lives"
	"gatewaytui/core/ops"
)

// gatewayHost is this process as its gateway knows it.
type gatewayHost struct {
	l     *life
	parts parts
	files lives.Files
	// demo is nil where the gateway is no demo, scraper where there is no metrics listener.
	demo    func() *ops.Demo
	scraper *scraper
}

var _ gateway.Host = (*gatewayHost)(nil)

func (h *gatewayHost) APIListen() string { return h.parts.apiListen() }

func (h *gatewayHost) MetricsListen() (addr string, trouble ops.Warning) {
	if h.scraper == nil {
		return "", ops.Warning{}
	}
	return h.scraper.state()
}

func (h *gatewayHost) LogTrouble() (text string, since time.Time) { return h.l.logs.FileTrouble() }

func (h *gatewayHost) Demo() *ops.Demo {
	if h.demo == nil {
		return nil
	}
	return h.demo()
}

func (h *gatewayHost) ConfigChanged() (bool, error) { return h.l.loaded.Changed() }

func (h *gatewayHost) ClockConfirmed(wall time.Time) bool { return clockConfirmed(wall) }

func (h *gatewayHost) Booted() (ago time.Duration, known bool) { return sinceBoot(), true }

func (h *gatewayHost) LastReport(life string) (r ops.Shutdown, found bool, err error) {
	return h.files.LastReport(life)
}

func (h *gatewayHost) Diagnosis() (f gateway.File, err error) {
	err = h.l.spares.spend(func() error { f, err = h.files.Create("diagnosis"); return err })
	return f, err
}

func (h *gatewayHost) Mark(m gateway.Mark) error {
	return h.l.spares.spend(func() error {
		return h.l.home.WriteMarker(instance.Marker{Life: h.l.id, At: m.At, Reason: m.Reason, By: m.By, Damaged: m.Damaged})
	})
}

func (h *gatewayHost) SaveReport(r ops.Shutdown) error {
	return h.l.spares.spend(func() error { return h.files.SaveReport(r) })
}

func (h *gatewayHost) Dump() { _, _ = h.files.Dump("watchdog") } // the process ends with or without it

func (h *gatewayHost) Exit(code int) { h.l.exit(code) }

func (h *gatewayHost) Over(code int) {
	backstop(code, func(code int) {
		h.l.log.Error("the process did not end by itself", "exit_code", code, "bound_ms", endBound.Milliseconds())
		h.l.exit(code)
	}, os.Exit)
}
