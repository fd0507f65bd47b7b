package gateway

import (
	"os"
	"time"

	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/reload"
)

// hostDouble is a host whose answers a test sets; what is nil answers nothing.
type hostDouble struct {
	apiListen      func() string
	metricsListen  func() (string, ops.Warning)
	demo           func() *ops.Demo
	clockConfirmed func(wall time.Time) bool
	lastReport     func(life string) (ops.Shutdown, bool, error)
	diagnosis      func() (*os.File, error)
	mark           func(instance.Marker) error
	saveReport     func(ops.Shutdown) error
	exit, over     func(code int)
}

// hostOf is the host of options that a test changes.
func hostOf(o *Options) *hostDouble { return o.Host.(*hostDouble) }

func (h *hostDouble) APIListen() string {
	if h.apiListen == nil {
		return ""
	}
	return h.apiListen()
}

func (h *hostDouble) MetricsListen() (addr string, trouble ops.Warning) {
	if h.metricsListen == nil {
		return "", ops.Warning{}
	}
	return h.metricsListen()
}

func (h *hostDouble) Demo() *ops.Demo {
	if h.demo == nil {
		return nil
	}
	return h.demo()
}

func (h *hostDouble) ClockConfirmed(wall time.Time) bool {
	return h.clockConfirmed != nil && h.clockConfirmed(wall)
}

func (h *hostDouble) LastReport(life string) (r ops.Shutdown, found bool, err error) {
	if h.lastReport == nil {
		return ops.Shutdown{}, false, nil
	}
	return h.lastReport(life)
}

func (h *hostDouble) Mark(m instance.Marker) error {
	if h.mark == nil {
		return nil
	}
	return h.mark(m)
}

func (h *hostDouble) SaveReport(r ops.Shutdown) error {
	if h.saveReport == nil {
		return nil
	}
	return h.saveReport(r)
}

func (h *hostDouble) Exit(code int) {
	if h.exit != nil {
		h.exit(code)
	}
}

func (h *hostDouble) Over(code int) {
	if h.over != nil {
		h.over(code)
	}
}

func (h *hostDouble) Diagnosis() (*os.File, error)             { return h.diagnosis() }
func (*hostDouble) Booted() (ago time.Duration, known bool)    { return 0, false }
func (*hostDouble) LogTrouble() (text string, since time.Time) { return "", time.Time{} }
func (*hostDouble) Dump()                                      {}

// fixedConfig is a config file that never changes.
type fixedConfig struct{}

func (fixedConfig) Look() (string, error)           { return "", nil }
func (fixedConfig) InForce() (string, time.Time)    { return "", time.Time{} }
func (fixedConfig) Plan() (reload.Plan, error)      { return reload.Plan{}, nil }
func (fixedConfig) Build(reload.Plan) (Next, error) { return Next{}, nil }
func (fixedConfig) Adopt(reload.Plan)               {}
