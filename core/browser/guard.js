// Runs in Playwright's server for each page, before its first address. The page opens nothing but the web, and neither it nor a page
// of the browser itself reads files of this machine.
exports.default = async ({ page }) => {
  const go = page.goto.bind(page);
  page.goto = (address, options) => {
    if (!/^(https?:|about:blank$)/i.test(String(address).trim()))
      throw new Error('only addresses that begin with http:// or https:// are opened');
    return go(address, options);
  };
  const session = await page.context().newCDPSession(page);
  session.on('Fetch.requestPaused', paused =>
    session.send('Fetch.failRequest', { requestId: paused.requestId, errorReason: 'BlockedByClient' }).catch(() => {}));
  const patterns = ['file:*', 'filesystem:*', 'chrome:*', 'chrome-untrusted:*', 'devtools:*'].map(urlPattern => ({ urlPattern }));
  await session.send('Fetch.enable', { patterns });
};
