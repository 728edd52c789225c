// A labelled native file field that sends what is chosen to `url`.
export default {
  template: `
    <div class="hr-field">
      <label :for="id">{{ label }}</label>
      <input :id="id" class="hr-input" type="file" :accept="accept" :disabled="busy" @change="send($event)" />
    </div>`,
  props: { label: String, url: String, accept: String, largest: Number },
  data() { return { id: `hr-file-${(window.hrFields = (window.hrFields || 0) + 1)}`, busy: false }; },
  methods: {
    async send(event) {
      const file = event.target.files[0];
      if (!file) return;
      if (file.size > this.largest) { this.$emit("refused", "large"); return; }
      const form = new FormData();
      form.append("file", file);
      this.busy = true;
      try {
        const answer = await fetch(this.url, { method: "POST", body: form });
        if (!answer.ok) this.$emit("refused", String(answer.status));
      } catch (error) {
        this.$emit("refused", "gone");
      } finally {
        this.busy = false;
        event.target.value = "";
      }
    },
  },
};
