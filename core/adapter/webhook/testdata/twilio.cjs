// A number whose messages go to the webhook at process.argv[1]; process.argv[2] is the port of the double of Twilio.
(async () => {
  const { createEmulator } = await import('emulate')
  const [hook, port] = process.argv.slice(1)
  await createEmulator({ service: 'twilio', port: Number(port), seed: { twilio: { phone_numbers: [{ phone_number: '+15551234567', sms_url: hook }] } } })
  const answer = await fetch(`http://127.0.0.1:${port}/_twilio/simulate/inbound-message`, {
    method: 'POST', body: 'To=%2B15551234567&From=%2B15550002222&Body=is%20it%20up%3F',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: 'Basic ' + Buffer.from('AC00000000000000000000000000000000:twilio_test_auth_token').toString('base64'),
    },
  })
  console.log(answer.status)
  process.stdin.on('end', () => process.exit(0)).resume()
})()
