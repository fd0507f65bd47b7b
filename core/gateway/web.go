package gateway

import (
	"fmt"
	"os"
	"time"

	"gatewaytui/core/address"
	"gatewaytui/core/config"
	"gatewaytui/core/environment/proxy/hosts"
	"gatewaytui/core/web"
)

// webMost is how long one call of a web tool may take, where tools.timeout allows more.
const webMost = 30 * time.Second

// newGuard decides to which addresses the gateway connects for models.
func newGuard(c config.Config) (*address.Guard, error) {
	allowed, err := address.ParseAllowed(c.Web.AllowPrivate)
	if err != nil {
		return nil, fmt.Errorf("read web.allow_private: %w", err)
	}
	return address.NewGuard(address.Options{Allowed: allowed, Key: "web.allow_private", OwnPorts: ownPorts(c)}), nil
}

// newWeb is what the web tools of a config work with.
func (g *Gateway) newWeb(c config.Config) (*web.Client, error) {
	guard, err := newGuard(c)
	if err != nil {
		return nil, err
	}
	key, err := config.Secret(c.Web.SearchKeyEnv, "", os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("read web.search_key_env: %w", err)
	}
	return web.New(web.Options{Guard: guard, Timeout: min(c.Tools.Timeout.Duration, webMost), SearchURL: c.Web.SearchURL, SearchKey: key}), nil
}

// reaches reports whether the network of an agent's environment has a host, so that no person is asked about it.
func (of *generation) reaches(agent string, host hosts.Target) bool {
	e := of.Config.EnvironmentOf(of.Config.AgentsByName()[agent].Environment)
	if e.Network.All {
		return true
	}
	list, err := hosts.Parse(e.Network.Hosts)
	return err == nil && list.Allow(host)
}
