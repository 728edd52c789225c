// A labelled native field: input, textarea or select. The browser brings keyboard, screen reader and the phone's own pickers along.
export default {
  template: `
    <div class="hr-field">
      <label :for="id">{{ label }}</label>
      <select v-if="options" :id="id" class="hr-input" :value="current" :disabled="disabled" @change="send($event)">
        <option v-for="o in options" :key="o[0]" :value="o[0]">{{ o[1] }}</option>
      </select>
      <textarea v-else-if="lines" :id="id" class="hr-input" :value="current" :disabled="disabled" :placeholder="placeholder" spellcheck="false" @input="later($event)" @change="send($event)"></textarea>
      <input v-else :id="id" class="hr-input" :type="type || 'text'" :value="current" :disabled="disabled" :placeholder="placeholder" :list="hints ? id + '-hints' : null" spellcheck="false" autocomplete="off"
        @input="later($event)" @change="send($event)" @keydown.enter="enter($event)" />
      <datalist v-if="hints" :id="id + '-hints'"><option v-for="h in hints" :key="h" :value="h"></option></datalist>
    </div>`,
  props: { label: String, value: String, options: Array, lines: Boolean, type: String, placeholder: String, disabled: Boolean, hints: Array, stamp: Number },
  data() { return { id: `hr-field-${(window.hrFields = (window.hrFields || 0) + 1)}`, timer: null, sent: null, current: this.value }; },
  // What is typed is kept here: the page may be drawn anew at any time, with what the server last set.
  watch: { stamp() { this.current = this.value; this.sent = null; } },
  methods: {
    later(event) {
      clearTimeout(this.timer);
      const value = (this.current = event.target.value);
      this.timer = setTimeout(() => this.tell(value), 200);
    },
    send(event) { clearTimeout(this.timer); this.current = event.target.value; this.tell(this.current); },
    enter(event) { this.send(event); this.$emit("enter"); },
    tell(value) { if (value !== this.sent) { this.sent = value; this.$emit("changed", { value }); } },
  },
};
