// LangChain's chat model as its documentation shows it. It prints one line of JSON.
import { ChatOpenAI } from '@langchain/openai';
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';

const model = new ChatOpenAI({ model: 'any', apiKey: process.env.OPENAI_API_KEY, configuration: { baseURL: process.env.OPENAI_BASE_URL }, temperature: 0.2 });
const history = [new SystemMessage('Be brief.'), new HumanMessage('My name is Bob.'), new AIMessage('Ahoy.'), new HumanMessage('context')];
const plain = await model.invoke(history);
let streamed = '';
for await (const piece of await model.stream(history)) streamed += piece.content;
const bound = model.bindTools([{ type: 'function', function: { name: 'weather', description: 'Weather of a place.',
  parameters: { type: 'object', properties: { place: { type: 'string' } } } } }]);
const asked = await bound.invoke([new HumanMessage('weather')]);
const call = asked.tool_calls[0];
const told = await bound.invoke([new HumanMessage('weather'), asked, new ToolMessage({ tool_call_id: call.id, content: 'sunny' })]);
console.log(JSON.stringify({ plain: plain.content, streamed, call: call.name, place: call.args.place, told: told.content }));
