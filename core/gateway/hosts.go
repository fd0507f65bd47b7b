package gateway

import (
	"net"
	"path/filepath"
	"strconv"

	"gatewaytui/core/config"
	"gatewaytui/core/environment/proxy"
)

// newHosts is the network of sandboxes that have a list of hosts.
func (g *Gateway) newHosts() proxy.Sandboxes {
	return proxy.Sandboxes{Folder: filepath.Join(g.opts.Home.Dir, temporaryDir, "proxies"), Ask: g.trust.hosts.Ask, OwnPorts: ownPorts(g.config())}
}

// ownPorts are the ports on which the gateway listens, as far as the config names them.
func ownPorts(c config.Config) (own []uint16) {
	for _, listen := range []string{c.Adapters.API.Listen, c.Metrics.Listen, c.Adapters.Webhook.Listen} {
		_, number, _ := net.SplitHostPort(listen) // the config was checked; one that is empty has no port
		if port, err := strconv.ParseUint(number, 10, 16); err == nil && port > 0 {
			own = append(own, uint16(port))
		}
	}
	return own
}
