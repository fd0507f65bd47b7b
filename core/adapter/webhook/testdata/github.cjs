// A repository whose hook calls the webhook at process.argv[1]; process.argv[2] is the port of the double of GitHub.
(async () => {
  const { createEmulator } = await import('emulate')
  const [hook, port] = process.argv.slice(1)
  await createEmulator({ service: 'github', port: Number(port) })
  const call = (method, path, body) => fetch(`http://127.0.0.1:${port}${path}`, {
    method, headers: { authorization: 'Bearer test_token_admin', 'content-type': 'application/json' }, body: body && JSON.stringify(body),
  })
  await call('POST', '/user/repos', { name: 'x' })
  await call('POST', '/repos/admin/x/hooks', { events: ['*'], config: { url: hook, secret: 'a secret of the sender', content_type: 'json' } })
  await call('POST', '/repos/admin/x/hooks/1/pings')
  await call('POST', '/repos/admin/x/issues', { title: 'it broke' })
  const all = async () => (await (await call('GET', '/repos/admin/x/hooks/1/deliveries')).json()).map(d => `${d.event} ${d.status_code}`)
  while ((await all()).length < 2) await new Promise(done => setTimeout(done, 20))
  console.log((await all()).sort().join(', '))
  process.stdin.on('end', () => process.exit(0)).resume()
})()
