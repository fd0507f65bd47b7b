package control

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

const (
	// scrapeRetry is the pause before a listener that failed is tried again.
	scrapeRetry = 5 * time.Second
	// maxScrapeConns is how many connections are served at once; more are closed.
	maxScrapeConns = 32
	// scrapeWrite bounds the writing of one answer to a scraper.
	scrapeWrite = 10 * time.Second
	// scrapeBye is what Run grants the scrapes in flight when it ends; the phase surrender has 0.5 s for all that it does.
	scrapeBye = 100 * time.Millisecond
)

// WarnMetrics is the code of the warning that /metrics is not served on its address.
const WarnMetrics = "metrics.listen"

// ScrapeOptions are what a Scrape needs.
type ScrapeOptions struct {
	// Console and Gatherer are what is served: the same as on the socket's /metrics.
	Console  ops.Console
	Gatherer prometheus.Gatherer
	// Listen is host:port; port 0 picks one.
	Listen string
	// Key is what scrapers send as a bearer token where the address is not loopback. Without one only loopback is served.
	Key string
	// OwnHost reports whether a Host header means this machine. A request without a key and with another one is refused:
	// a web page whose name was made to point here has it (DNS rebinding, I5).
	OwnHost func(hostport string) bool
	// Slow is asked about each key that is sent and decides: from is host:port, right says whether the key is right. It
	// returns how long the sender is locked out; nil: no sender is locked out (api.Guard, HF17).
	Slow func(from, key string, right bool) time.Duration
	// Log takes what the listener has to say; nil is silence.
	Log *slog.Logger
}

// Scrape serves GET /metrics to Prometheus on a TCP address. A port that is taken is tried again until it is free; the
// gateway runs meanwhile, and Warning says so. Run is called once.
type Scrape struct {
	opt     ScrapeOptions
	key     [sha256.Size]byte
	metrics http.Handler
	retry   time.Duration
	conns   atomic.Int32

	mu      sync.Mutex // guards what follows; never held over I/O
	addr    string
	trouble ops.Warning
}

// NewScrape returns a listener that does nothing yet.
func NewScrape(opt ScrapeOptions) *Scrape {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Scrape{opt: opt, key: sha256.Sum256([]byte(opt.Key)), metrics: metricsHandler(opt.Console, opt.Gatherer), retry: scrapeRetry}
}

// Addr is where it listens, empty while it does not. It may be called from any goroutine, on a nil Scrape too.
func (s *Scrape) Addr() string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// Warning says why it does not listen; false if it does, or has not tried yet. It may be called from any goroutine, on a
// nil Scrape too.
func (s *Scrape) Warning() (ops.Warning, bool) {
	if s == nil {
		return ops.Warning{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble, s.trouble.Code != ""
}

// Run listens and serves until ctx ends. Scrapes in flight then have scrapeBye; after that the port is free and every
// connection is closed.
func (s *Scrape) Run(ctx context.Context) {
	for {
		l, err := s.listen(ctx)
		if err == nil {
			err = s.serve(ctx, l)
		}
		if ctx.Err() != nil {
			return
		}
		s.failed(err)
		select {
		case <-time.After(s.retry):
		case <-ctx.Done():
			return
		}
	}
}

// listen opens the port. Without a key an address that other machines reach is refused, independent of what a name resolves to.
func (s *Scrape) listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, text.ListenNetwork(s.opt.Listen), s.opt.Listen)
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok {
			err = op.Err // the rest of it is the address again
		}
		return nil, err
	}
	if s.opt.Key == "" && !loopback(l.Addr()) {
		return nil, errors.Join(errors.New("the address is not loopback: set adapters.api.key_env to the variable that holds the scrapers' key"), l.Close())
	}
	return l, nil
}

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// failed notes why it does not listen. The log has it once, not at each try.
func (s *Scrape) failed(err error) {
	message := fmt.Sprintf("metrics are not served on %s, trying again every %s: %v", s.opt.Listen, s.retry, err)
	s.mu.Lock()
	s.addr = ""
	news := s.trouble.Message != message
	if s.trouble.Code == "" {
		s.trouble.Since = ops.At(time.Now())
	}
	s.trouble.Code, s.trouble.Message = WarnMetrics, message
	s.mu.Unlock()
	if news {
		s.opt.Log.Warn("metrics not served", "address", s.opt.Listen, "error", err.Error())
	}
}

// serve answers on l until ctx ends or l breaks.
func (s *Scrape) serve(ctx context.Context, l net.Listener) error {
	s.mu.Lock()
	s.addr, s.trouble = l.Addr().String(), ops.Warning{}
	s.mu.Unlock()
	s.opt.Log.Info("metrics served", "address", l.Addr().String())
	open := loopback(l.Addr())
	srv := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, open) }),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      scrapeWrite,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelDebug),
		ConnState:         s.count,
	}
	broken := make(chan error, 1)
	go func() { broken <- srv.Serve(l) }() // serve waits for it
	select {
	case err := <-broken:
		_ = srv.Close() // the listener has gone already
		return err
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.addr = ""
	s.mu.Unlock()
	// Shutdown must run though the context that asked for it has ended.
	bye, cancel := context.WithTimeout(context.Background(), scrapeBye)
	defer cancel()
	if srv.Shutdown(bye) != nil {
		_ = srv.Close() // a scraper that does not read is cut off
	}
	<-broken // Serve returns as soon as its listener is closed
	return nil
}

// count keeps the number of connections bounded.
func (s *Scrape) count(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if s.conns.Add(1) > maxScrapeConns {
			c.Close() // it has asked nothing yet
		}
	case http.StateClosed, http.StateHijacked:
		s.conns.Add(-1)
	}
}

// answer answers a request. open says that the address is loopback, so that no key is needed.
func (s *Scrape) answer(w http.ResponseWriter, r *http.Request, open bool) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if status, why, wait := s.refusal(r, open); status != 0 {
		switch status {
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
		case http.StatusTooManyRequests:
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		}
		http.Error(w, why, status)
		return
	}
	switch {
	case r.URL.Path != "/metrics":
		http.Error(w, "only /metrics is served here", http.StatusNotFound)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "use GET for /metrics", http.StatusMethodNotAllowed)
	default:
		s.metrics.ServeHTTP(w, r)
	}
}

// refusal returns why r is refused, and how long its sender is locked out; status 0 means that it is served. A loopback address is
// served to the programs of this machine, and to no web page that one of its browsers shows: such a request has an Origin, or a
// Host that is not this machine's. Who is served without a key may send any. Everyone else needs the key, and may not guess at it.
func (s *Scrape) refusal(r *http.Request, open bool) (status int, why string, wait time.Duration) {
	own := s.opt.OwnHost != nil && s.opt.OwnHost(r.Host)
	page := r.Header.Get("Origin") != ""
	if open && own && !page {
		return 0, "", 0
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if token != "" && s.opt.Key != "" {
		sum := sha256.Sum256([]byte(token)) // of equal length, so that the time tells nothing of the key
		right := strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], s.key[:]) == 1
		if s.opt.Slow != nil {
			wait = s.opt.Slow(r.RemoteAddr, token, right)
		}
		switch {
		case wait > 0:
			return http.StatusTooManyRequests, "too many wrong keys came from this address: send the right one after " + text.Exact(wait.Round(time.Second)), wait
		case right:
			return 0, "", 0
		}
		return http.StatusUnauthorized, "the key is wrong: send that of adapters.api as Authorization: Bearer KEY", 0
	}
	switch {
	case !open:
		return http.StatusUnauthorized, "no key: send that of adapters.api as Authorization: Bearer KEY", 0
	case page:
		return http.StatusForbidden, "web pages are not served", 0
	}
	return http.StatusForbidden, "the Host header is not a loopback name; use one, or send the key of adapters.api", 0
}

// scrapeTime bounds the snapshot behind one scrape.
const scrapeTime = 2 * time.Second

// metricsHandler serves what extra gathers and what the console shows.
func metricsHandler(console ops.Console, extra prometheus.Gatherer) http.Handler {
	own := prometheus.NewRegistry()
	own.MustRegister(rowCollector{console})
	gatherers := prometheus.Gatherers{own}
	if extra != nil {
		gatherers = append(gatherers, extra)
	}
	return promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, Timeout: 2 * scrapeTime})
}

// rowCollector makes gauges of a snapshot at each scrape, so that metrics and screen can never differ.
type rowCollector struct{ console ops.Console }

var states = []ops.State{ops.StateStarting, ops.StateRunning, ops.StateDraining, ops.StateStopping}

var adapterStates = []ops.AdapterState{
	ops.AdapterConnecting, ops.AdapterConnected, ops.AdapterStale, ops.AdapterRetrying,
	ops.AdapterNeedsCredentials, ops.AdapterPaused, ops.AdapterStopped,
}

// Describe sends none: which series there are depends on the gateway's state.
func (c rowCollector) Describe(chan<- *prometheus.Desc) {}

// Collect takes one snapshot. A gateway that does not give one is shown as not up, and with nothing else.
func (c rowCollector) Collect(ch chan<- prometheus.Metric) {
	labelled := func(name, help string, v float64, labels prometheus.Labels) {
		for l := range labels {
			labels[l] = strings.ToValidUTF8(labels[l], "\uFFFD")
		}
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, labels), prometheus.GaugeValue, v)
	}
	gauge := func(name, help string, v float64) { labelled(name, help, v, nil) }
	// A collector is given no context; the scraper's patience is about as long.
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	s, err := c.console.Snapshot(ctx)
	gauge("gatewaytui_up", "Whether the gateway answered with a snapshot.", truth(err == nil))
	if err != nil {
		return
	}
	labelled("gatewaytui_build_info", "The version that runs; always 1.", 1, prometheus.Labels{"version": s.Version})
	gauge("gatewaytui_uptime_seconds", "Time since this life began.", float64(s.UptimeMS)/1000)
	for _, st := range states {
		labelled("gatewaytui_state", "Whether the gateway is in the state.", truth(s.State == st), prometheus.Labels{"state": string(st)})
	}
	gauge("gatewaytui_sessions", "Sessions known.", float64(s.Counts.Sessions))
	gauge("gatewaytui_running_turns", "Turns that run.", float64(s.Counts.RunningTurns))
	gauge("gatewaytui_queued_messages", "Messages that wait behind a running turn.", float64(s.Counts.QueuedMessages))
	gauge("gatewaytui_cached_agents", "Agents in the cache.", float64(s.Counts.CachedAgents))
	gauge("gatewaytui_agent_bytes", "Size of the transcripts of all agents.", sum(s.Agents, func(r ops.Agent) int64 { return r.Bytes }))
	gauge("gatewaytui_processes", "Tracked process trees.", float64(s.Counts.Processes))
	resident := sum(s.Processes, func(r ops.Process) int64 { return r.RSSBytes })
	gauge("gatewaytui_tool_processes_resident_bytes", "Resident memory of all process trees that tools started. The gateway's own is process_resident_memory_bytes.", resident)
	gauge("gatewaytui_process_resident_bytes", "The same as gatewaytui_tool_processes_resident_bytes, under its first name: 0 while no process is tracked, and never the gateway's own.", resident)
	gauge("gatewaytui_background_tasks", "Tracked background tasks.", float64(len(s.Background)))
	gauge("gatewaytui_warnings", "Warnings that are shown.", float64(len(s.Warnings)))
	for _, a := range s.Adapters {
		labelled("gatewaytui_adapter_up", "Whether the adapter is connected.", truth(a.State == ops.AdapterConnected), prometheus.Labels{"adapter": a.Name})
		labelled("gatewaytui_adapter_queued_sends", "Sends that wait.", float64(a.Queue), prometheus.Labels{"adapter": a.Name})
		for _, st := range adapterStates {
			labelled("gatewaytui_adapter_state", "Whether the adapter is in the state.", truth(a.State == st), prometheus.Labels{"adapter": a.Name, "state": string(st)})
		}
	}
	for _, st := range ops.ServerStates {
		labelled("gatewaytui_servers", "MCP servers in the state: each running one, and each configured one that does not run.", tally(s.Servers, func(r ops.Server) bool { return r.State == st }), prometheus.Labels{"state": string(st)})
	}
	for _, st := range ops.JobStates {
		labelled("gatewaytui_jobs", "Jobs in the state.", tally(s.Jobs, func(r ops.Job) bool { return r.State == st }), prometheus.Labels{"state": string(st)})
	}
	for _, kind := range ops.HeldKinds {
		labelled("gatewaytui_held", "What sessions and the gateway hold besides processes and environments, by kind.", tally(s.Held, func(r ops.Held) bool { return r.Kind == kind }), prometheus.Labels{"kind": string(kind)})
	}
	if s.Shutdown == nil {
		return
	}
	for _, p := range s.Shutdown.Phases {
		labelled("gatewaytui_shutdown_phase", "Whether the phase of the running shutdown runs.", truth(p.State == ops.StepRunning), prometheus.Labels{"phase": p.Name})
	}
	gauge("gatewaytui_shutdown_blockers", "Items that the running phase of a shutdown waits for.", float64(len(s.Shutdown.Blockers())))
	gauge("gatewaytui_shutdown_deadline_timestamp_seconds", "When the running shutdown is over at the latest.", float64(s.Shutdown.DeadlineAt.UnixMilli())/1000)
}

func tally[T any](rows []T, is func(T) bool) (n float64) {
	for _, r := range rows {
		n += truth(is(r))
	}
	return n
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func sum[T any](rows []T, of func(T) int64) float64 {
	var n int64
	for _, r := range rows {
		n += of(r)
	}
	return float64(n)
}
