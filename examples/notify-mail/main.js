import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import nodemailer from 'nodemailer';
import { SignatureError, verify } from 'transfer-service-client/verify';

// Turns the notifications of NOTIFY_URL=http://this-host:4200/ into mails. A message that the mail server does not take
// gets 500, so that the service sends it again.

const { PORT = '4200', NOTIFY_SECRET: secret = '', SMTP_URL, FROM: from, TO: to } = process.env;
const mail = nodemailer.createTransport(SMTP_URL);
/** A message may arrive twice. */
const sent = new Set();

const SUBJECTS = {
  'endpoint.failing': 'fails',
  'endpoint.disabled': 'is disabled',
  'endpoint.recovered': 'works again',
  'deliveries.ending': 'has deliveries whose last retry is near',
};

createServer(async (request, response) => {
  try {
    const body = await buffer(request);
    verify({ header: request.headers['service-signature'], body, secret });
    const { id, type, data } = JSON.parse(body.toString());
    if (!sent.has(id)) {
      const subject = SUBJECTS[type] ? `${data.host} of ${data.client_name} ${SUBJECTS[type]}` : type;
      await mail.sendMail({
        from,
        to,
        subject,
        text: JSON.stringify({ type, ...data }, null, 2),
        messageId: `<${id}@webhooks>`,
      });
      sent.add(id);
      console.log(`mailed: ${subject}`);
    }
    response.writeHead(204).end();
  } catch (error) {
    console.error(String(error));
    response.writeHead(error instanceof SignatureError ? 400 : 500).end();
  }
}).listen(Number(PORT), () => console.log(`listening on port ${PORT}`));
